"""`python -m dsrt_cli` is `dsrt`."""

from dsrt_cli import main

main()
