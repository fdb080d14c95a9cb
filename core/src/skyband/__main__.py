"""`python -m skyband`: the command line."""

from skyband.cli import main

if __name__ == "__main__":
    main()
