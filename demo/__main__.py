"""`python -m demo`."""

from demo.run import main

main()
