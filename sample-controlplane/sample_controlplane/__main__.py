"""``python -m sample_controlplane``."""

from sample_controlplane.main import main

if __name__ == "__main__":
    main()
