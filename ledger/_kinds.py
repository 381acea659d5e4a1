# temporary alias; never committed
import sys
import ledger.kinds
sys.modules[__name__] = ledger.kinds
