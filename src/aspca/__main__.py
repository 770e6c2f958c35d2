"""`python -m aspca` is the command `aspca`."""

import sys

from aspca.cli.main import main

sys.exit(main())
