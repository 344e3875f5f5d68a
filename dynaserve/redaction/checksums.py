"""Check digits of cards and bank accounts: canaries have them, redaction goes by them."""

from __future__ import annotations


def luhn_holds(digits: str) -> bool:
    """Return whether a card number's check digit is right (ISO/IEC 7812-1, annex B)."""
    doubled = (int(d) * 2 for d in digits[-2::-2])
    return (sum(map(int, digits[::-2])) + sum(d // 10 + d % 10 for d in doubled)) % 10 == 0


def iban_remainder(iban: str) -> int:
    """Return the remainder mod 97 of an IBAN without spaces, 1 if it is right (ISO 13616)."""
    turned = iban[4:] + iban[:4]
    return int("".join(str(int(sign, 36)) for sign in turned)) % 97
