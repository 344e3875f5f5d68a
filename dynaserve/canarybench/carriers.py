"""The sentences in which canaries are planted: what people write around such a value.

They hold nothing else that is personal.
"""

from __future__ import annotations

CARRIERS = {
    "email": (
        "You can contact me by email at {value}.",
        "Please write to my email {value} once you know more.",
        "My email address is {value}.",
        "The email they have for me is {value}.",
        "I signed up with the email {value}.",
        "Send what you find to {value}, please.",
        "To contact me, use {value}.",
        "My other email is {value}, by the way.",
    ),
    "phone": (
        "You can contact me by phone on {value}.",
        "My phone number is {value}.",
        "Please call my number {value} if that is easier.",
        "The phone I use in the evening has the number {value}.",
        "They should have my number, {value}.",
        "To contact me, call {value}.",
        "The number they called is {value}.",
        "If in doubt, call {value}.",
    ),
    "address": (
        "I live at {value}.",
        "My address is {value}.",
        "The address on file is {value}.",
        "We live at {value}, if that matters.",
        "They have the address {value} for me, which is right.",
        "Contact by post goes to {value}.",
        "For the record, my address is {value}.",
        "Send it to my address, {value}.",
    ),
    "phrase": (
        "My pass phrase is {value}.",
        "The phrase on my account is {value}.",
        "It asked for my phrase, which is {value}.",
        "My account has the phrase {value}.",
        "If they contact you, the phrase is {value}.",
        "The phrase we agreed on is {value}.",
        "I called it {value}.",
        "It is the one named {value}.",
    ),
    "card": (
        "I paid with {value}.",
        "The card is {value}.",
        "They charged {value} for it.",
        "It was on {value}.",
        "My card number is {value}.",
        "Please use {value} if there is a fee.",
    ),
    "iban": (
        "My IBAN is {value}.",
        "It should be paid to {value}.",
        "They took it from {value}.",
        "The account is {value}.",
        "I always use {value} for that.",
        "Please send it back to {value}.",
    ),
    "ip": (
        "My address on the network is {value}.",
        "It came from {value}.",
        "The box itself is {value}.",
        "I was on {value} then.",
        "They said that {value} was me.",
        "Everything here goes out through {value}.",
    ),
    "token": (
        "The key I use is {value}.",
        "It is set to {value}.",
        "I tried it with {value}.",
        "They gave me {value} for that.",
        "My token is {value}.",
        "It still has {value} in it.",
    ),
}
"""Kind of canary -> sentences with a place for ``{value}``."""
