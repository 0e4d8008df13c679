"""``python sample-controlplane``: the same from a checkout, where nothing need be installed but the libraries."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from sample_controlplane.main import main

    main()
