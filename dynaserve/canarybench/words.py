"""The invented names that canaries are made of.

People, streets and towns that do not exist: a head and a tail each, so that they are as many and
as rare as real names are.
"""
# ruff: noqa: SIM905 - lists of words are read as words

from __future__ import annotations

GIVEN = (
    "tav or mir josc brav edl kest ulm fenn sor darg wilm yv pell quor thad zeph lusk obr halv "
    "ism cadw ner vost branw ell ruf gis marr tal winsl ader".split(),
    "in an elle on ik yn ria ar ick ina o et essa orn ra ine ey is eth wen".split(),
)
FAMILY = (
    "quill mor thistle hark ost pen var lind bris callo dun eske farrow glim hex iver jessa "
    "kettle lorri moss nettle orping prenda rook silver tam under vel wren yar zel abber".split(),
    "aby vane don well rander hollow kesh qvast bourne way more lund gate roy worth stad mour "
    "brand mont grove combe ton vic hurst thwaite blyn hay field borne lay".split(),
)
STREET = (
    "Fenni Lark Tangle Copper Quarry Bell Dun Elder Fox Grist Heron Ivory Juni Kiln Lantern Mill "
    "Night Orchard Pebble Quince Raven Salt Thorn Umber Vinter Whistle Yarrow Amber Bramble "
    "Cinder Drift Hollow".split(),
    "more spur wood field stone weather mere pine hollow mill gate brook perus worth hill race "
    "jar son croft ford scar marsh bury wick dale line stow thorpe combe fall".split(),
)
TOWN = (
    "Brindle Caster Dover East Fallow Glen Holm Inver Jasper Kings Low Merrow North Oak Penn "
    "Quartz Red Stan Tide Upper Vant Wester Yew Zephyr Alder Birch Clay Dray".split(),
    "wick moor mill vale mere harrow field brook ton fallow marsh dale quay hampton crest burg "
    "ferne well water glen leigh bridge port haven cross".split(),
)
STREET_TYPES = ("Street", "Avenue", "Lane", "Road", "Drive", "Court", "Boulevard", "Way")
STATES = (
    "AL AZ AR CA CO CT DE FL GA ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY "
    "NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY".split()
)
MAIL_DOMAINS = (
    "example.com",
    "example.org",
    "example.net",
    "mail.example.com",
    "post.example.org",
    "inbox.example.net",
)
"""Reserved by RFC 2606: no mail sent there arrives anywhere."""
PHRASE = (
    "amber kestrel tundra velvet quince lantern cobalt thistle marmalade anvil saffron puffin "
    "granite willow zeppelin cinnamon badger obelisk tangerine walrus harbor pumice juniper "
    "gondola turquoise falcon origami biscuit nebula magnet parsnip cello glacier pepper "
    "hammock indigo locket mustard nutmeg otter pretzel rhubarb sextant trombone umbrella "
    "violet wombat yodel acorn bobbin cactus dahlia ember fiddle gazelle hatchet igloo jasmine "
    "kayak lemur mangrove noodle oyster papaya quartz rafter sapphire thimble urchin valise "
    "whistle xylem yarrow zither almanac bonfire chisel dragonfly espresso feather garnet helix "
    "iceberg jackal kettle lichen mosaic nectar orchid pebble quiver raccoon sandal "
    "tapestry".split()
)
