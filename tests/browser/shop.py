"""The demo's repository, commit by commit, and what its team remembers of it."""

_MONEY_1 = '''"""Money in whole cents."""


def to_cents(amount: float) -> int:
    """Round once, half up."""
    return int(amount * 100 + 0.5)


def shown(cents: int) -> str:
    return f"{cents / 100:.2f}"
'''
_MONEY_2 = (
    _MONEY_1
    + '''

def split(cents: int, parts: int) -> list[int]:
    """Share an amount so that the parts add up to it."""
    share, rest = divmod(cents, parts)
    return [share + (1 if place < rest else 0) for place in range(parts)]
'''
)
_BILLING_1 = '''"""Invoices and charges."""

from shop.money import to_cents


class Invoice:
    """What somebody owes."""

    def __init__(self, customer: str) -> None:
        self.customer = customer
        self.lines: list[tuple[str, float]] = []

    def add(self, text: str, amount: float) -> None:
        self.lines.append((text, amount))

    def total(self) -> int:
        return sum(to_cents(amount) for _, amount in self.lines)


def charge(invoice: Invoice) -> str:
    """Take the money once for each invoice."""
    return f"charged {invoice.customer} {invoice.total()}"
'''
_BILLING_2 = (
    _BILLING_1
    + '''

def refund(invoice: Invoice, cents: int) -> str:
    """Give money back, as a negative charge."""
    if cents > invoice.total():
        raise ValueError("more than was paid")
    return f"refunded {invoice.customer} {cents}"
'''
)
_WEB = '''"""Pages of the shop."""

from shop.billing import Invoice, charge
from shop.cart import Cart


def checkout(cart: Cart) -> str:
    invoice = Invoice(cart.customer)
    for name, price in cart.items:
        invoice.add(name, price)
    return charge(invoice)


def show_cart(cart: Cart) -> list[str]:
    return [name for name, _ in cart.items]
'''
_CART = '''"""What a customer is about to buy."""


class Cart:
    def __init__(self, customer: str) -> None:
        self.customer = customer
        self.items: list[tuple[str, float]] = []

    def put(self, name: str, price: float) -> None:
        self.items.append((name, price))

    def is_empty(self) -> bool:
        return not self.items
'''
_MAIL = '''"""Letters to customers."""

from shop.billing import Invoice
from shop.money import shown


def receipt(invoice: Invoice) -> str:
    return f"Dear {invoice.customer}, you paid {shown(invoice.total())}."
'''
_TESTS = """from shop.billing import Invoice, charge


def test_charge_names_the_customer():
    invoice = Invoice("ada")
    invoice.add("tea", 2.5)
    assert charge(invoice) == "charged ada 250"
"""

COMMITS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Begin with money", {"shop/__init__.py": "", "shop/money.py": _MONEY_1}),
    ("Bill customers", {"shop/billing.py": _BILLING_1, "tests/test_billing.py": _TESTS}),
    ("Sell from a cart", {"shop/cart.py": _CART, "shop/web.py": _WEB}),
    ("Write receipts", {"shop/mail.py": _MAIL}),
    ("Give money back", {"shop/billing.py": _BILLING_2, "shop/money.py": _MONEY_2}),
)

# (type, what is known, why)
MEMORIES: tuple[tuple[str, str, str], ...] = (
    (
        "decision",
        "Invoice totals are whole cents: shop/money.py rounds once, in to_cents.",
        "Floats added up to a cent too much on invoices of more than forty lines.",
    ),
    (
        "decision",
        "Amounts are shown with two digits by shown(), nowhere else.",
        "The receipts and the pages disagreed once.",
    ),
    (
        "rule",
        "charge is called once for each invoice; the payment provider does not notice doubles.",
        "",
    ),
    (
        "context",
        "The checkout page in shop/web.py makes an Invoice from the Cart and charges it.",
        "",
    ),
    (
        "decision",
        "Refunds are negative charges, so that the books add up without a table of their own.",
        "A table of refunds had to be joined into every report.",
    ),
    ("question", "May a refund be larger than what was paid when a voucher was used?", ""),
    ("procedure", "Letters are sent by shop/mail.py after the charge, never before.", ""),
)
