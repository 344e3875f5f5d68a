"""Tables about places: regions of the world, names of peoples, landmarks, words that mislead.

General knowledge, kept as data so that it can be read and extended without touching code. All
names are folded: lower case, without accents and dots.
"""

from __future__ import annotations

_REGIONS = {
    "northern Europe": "DK EE FI FO GB GG IE IM IS JE LT LV NO SE SJ AX",
    "western Europe": "AT BE CH DE FR LI LU MC NL",
    "southern Europe": "AD AL BA ES GI GR HR IT ME MK MT PT RS SI SM VA XK CY",
    "eastern Europe": "BG BY CZ HU MD PL RO RU SK UA",
    "eastern Asia": "CN HK JP KP KR MN MO TW",
    "southeastern Asia": "BN ID KH LA MM MY PH SG TH TL VN",
    "southern Asia": "AF BD BT IN IR LK MV NP PK",
    "western Asia": "AE AM AZ BH GE IL IQ JO KW LB OM PS QA SA SY TR YE",
    "central Asia": "KG KZ TJ TM UZ",
    "North America": "US CA GL BM PM",
    "Central America": "BZ CR GT HN MX NI PA SV",
    "northern Africa": "DZ EG EH LY MA SD TN",
    "southern Africa": "BW LS NA SZ ZA ZM ZW MZ AO MW",
    "eastern Africa": "BI DJ ER ET KE KM MG MU RE RW SC SO SS TZ UG YT",
    "western Africa": "BF BJ CI CV GH GM GN GW LR ML MR NE NG SH SL SN TG",
}
_BY_COUNTRY = {code: region for region, codes in _REGIONS.items() for code in codes.split()}
_CONTINENTS = {
    "AF": "Africa", "AN": "the far south", "AS": "Asia", "EU": "Europe", "NA": "the Caribbean",
    "OC": "the Pacific region", "SA": "South America",
}  # fmt: skip


def region_of(country: str, continent: str) -> str:
    """Return what to say instead of a place, by ISO 3166 country and GeoNames continent code."""
    return _BY_COUNTRY.get(country) or _CONTINENTS[continent]


_PHRASES = (
    "north america|south america|latin america|central america|southern america|san jose sharks"
    "|new york times|wall street|paris hilton|jordan peterson|georgia o'keeffe|chicago style"
    "|boston dynamics|roman empire|french fries|french toast|french press|french horn|swiss army"
    "|danish pastry|turkish delight|english literature|english major|english class|english teacher"
    "|english lit|english language|chinese food|italian food|mexican food|indian food|thai food"
    "|german shepherd|french bulldog|english breakfast|irish coffee|brazil nuts|turkey sandwich"
    "|guinea pig|dutch oven|polish up|polished|new york strip|las vegas raiders|hong kong phooey"
    "|bank of america|captain america|miss america|washington post|boston globe|british airways"
    "|american express|american airlines|air france|deutsche bank|united airlines|moscow mule"
    "|brussels sprouts|peking duck|cologne water|indian summer|japanese food|korean food"
    "|spanish class|french class|german class|bologna sandwich|asia|europe"
    "|africa|oceania|the caribbean"
)
NOT_PLACES = frozenset(
    [*_PHRASES.split("|"), *(name.lower() for name in (*_REGIONS, *_CONTINENTS.values()))]
)
"""Names that hold a place's name and are none, and what is said instead of places."""

COUNTRY_ALIASES = {
    "usa": "US", "us": "US", "the states": "US", "united states of america": "US", "america": "US",
    "uk": "GB", "england": "GB", "scotland": "GB", "wales": "GB", "britain": "GB",
    "great britain": "GB", "northern ireland": "GB", "holland": "NL", "the netherlands": "NL",
    "netherlands": "NL", "czech republic": "CZ", "russia": "RU", "south korea": "KR", "korea": "KR",
    "vietnam": "VN", "iran": "IR", "syria": "SY", "ivory coast": "CI", "uae": "AE", "turkey": "TR",
    "turkiye": "TR", "burma": "MM", "macedonia": "MK", "down under": "AU", "bolivia": "BO",
    "venezuela": "VE", "tanzania": "TZ", "ontario": "CA", "quebec": "CA", "british columbia": "CA",
    "alberta": "CA", "nova scotia": "CA", "bavaria": "DE", "catalonia": "ES", "andalusia": "ES",
    "tuscany": "IT", "sicily": "IT", "sardinia": "IT", "provence": "FR", "brittany": "FR",
    "normandy": "FR", "flanders": "BE", "queensland": "AU", "tasmania": "AU",
    "new south wales": "AU",
    "aotearoa": "NZ", "yorkshire": "GB", "cornwall": "GB", "punjab": "IN", "kerala": "IN",
    "west bengal": "IN", "bengal": "IN", "hokkaido": "JP", "copperbelt": "ZM", "socal": "US",
    "norcal": "US", "new england": "US", "midwest": "US", "bay area": "US", "silicon valley": "US",
    "gauteng": "ZA", "western cape": "ZA", "kwazulu natal": "ZA", "lapland": "FI", "skane": "SE",
    "jalisco": "MX", "anatolia": "TR", "minas gerais": "BR", "patagonia": "AR",
}  # fmt: skip
"""Other names of countries, and regions of theirs."""

_DEMONYMS = {
    "US": "american americans texan texans californian californians yankee new yorker|new yorkers",
    "CA": "canadian canadians canuck montrealer torontonian quebecois",
    "MX": "mexican mexicans", "BR": "brazilian brazilians brasileiro carioca paulista",
    "AR": "argentine argentinian argentinians porteno", "CL": "chilean chileans",
    "CO": "colombian colombians", "PE": "peruvian peruvians", "VE": "venezuelan venezuelans",
    "CU": "cuban cubans", "JM": "jamaican jamaicans",
    "GB": "british brit brits english scottish scot scots welsh londoner glaswegian scouser geordie"
    " mancunian englishman englishwoman scotsman", "IE": "irish irishman irishwoman dubliner",
    "FR": "french frenchman frenchwoman parisian lyonnais lyonnaise",
    "NL": "dutch dutchman dutchie",
    "DE": "german germans berliner bavarian", "AT": "austrian austrians viennese",
    "CH": "swiss", "BE": "belgian belgians", "LU": "luxembourger",
    "ES": "spanish spaniard spaniards catalan madrileno", "PT": "portuguese lisboeta",
    "IT": "italian italians roman romano milanese sicilian neapolitan",
    "GR": "greek greeks athenian",
    "SE": "swedish swede swedes stockholmer", "NO": "norwegian norwegians",
    "DK": "danish dane danes", "FI": "finnish finn finns", "IS": "icelandic icelander",
    "PL": "polish pole poles", "CZ": "czech czechs", "SK": "slovak slovaks",
    "HU": "hungarian hungarians magyar", "RO": "romanian romanians", "BG": "bulgarian bulgarians",
    "RU": "russian russians muscovite", "UA": "ukrainian ukrainians", "RS": "serbian serb serbs",
    "HR": "croatian croat croats", "TR": "turkish turk turks istanbulite", "IL": "israeli israelis",
    "EG": "egyptian egyptians", "MA": "moroccan moroccans", "NG": "nigerian nigerians",
    "GH": "ghanaian ghanaians", "KE": "kenyan kenyans", "ET": "ethiopian ethiopians",
    "ZA": "south african|south africans capetonian", "ZM": "zambian zambians", "ZW": "zimbabwean",
    "IN": "indian indians bengali punjabi delhiite mumbaikar desi", "PK": "pakistani pakistanis",
    "BD": "bangladeshi", "LK": "sri lankan", "NP": "nepali nepalese",
    "IR": "iranian iranians persian",
    "CN": "chinese beijinger shanghainese", "TW": "taiwanese", "JP": "japanese tokyoite",
    "KR": "korean koreans", "TH": "thai", "VN": "vietnamese", "ID": "indonesian indonesians",
    "MY": "malaysian malaysians", "PH": "filipino filipina filipinos pinoy", "SG": "singaporean",
    "AU": "australian australians aussie aussies sydneysider melburnian", "NZ": "kiwi kiwis",
    "LB": "lebanese", "SA": "saudi saudis", "AE": "emirati",
}  # fmt: skip
_PAIRS = ("new yorker", "new yorkers", "south african", "south africans", "sri lankan")
DEMONYMS = {
    name: code
    for code, names in _DEMONYMS.items()
    for name in (
        [pair for pair in _PAIRS if pair in names.replace("|", " ")]
        + [n for n in names.replace("|", " ").split() if not any(n in p.split() for p in _PAIRS)]
    )
}

_LANDMARKS = {
    ("Cape Town", "ZA"): "table mountain|camps bay|kirstenbosch|v&a waterfront|fynbos"
        "|boulders beach",
    ("Johannesburg", "ZA"): "soweto|sandton|maboneng", ("Durban", "ZA"): "umhlanga|bunny chow",
    ("Rome", "IT"): "trastevere|colosseum|trevi fountain|vatican|tiber|villa borghese",
    ("Naples", "IT"): "vesuvius|spaccanapoli", ("Bologna", "IT"): "two towers of bologna|asinelli",
    ("Milan", "IT"): "navigli|duomo di milano", ("Venice", "IT"): "rialto|grand canal",
    ("Paris", "FR"): "eiffel tower|montmartre|champs elysees|le marais|louvre|seine|notre dame",
    ("Lyon", "FR"): "fete des lumieres|festival of lights|croix rousse|bouchon lyonnais|fourviere",
    ("Amsterdam", "NL"): "vondelpark|rijksmuseum|jordaan|de pijp|dam square",
    ("Rotterdam", "NL"): "erasmusbrug|erasmus bridge|euromast|markthal",
    ("London", "GB"): "camden|shoreditch|hyde park|emirates stadium|thames|brixton|hackney|soho"
    "|tower bridge|big ben|heathrow|west end|notting hill|the tube",
    ("Glasgow", "GB"): "celtic park|ibrox|kelvingrove|barras",
    ("Edinburgh", "GB"): "arthur's seat|royal mile|holyrood|fringe festival|princes street",
    ("Manchester", "GB"): "old trafford", ("Liverpool", "GB"): "anfield",
    ("Dublin", "IE"): "temple bar|grafton street|croke park|phoenix park|liffey|howth",
    ("Cork", "IE"): "english market|river lee|beamish",
    ("Berlin", "DE"): "kreuzberg|neukolln|brandenburg gate|tiergarten|prenzlauer berg|spree"
        "|berghain",
    ("Munich", "DE"): "oktoberfest|marienplatz|englischer garten|isar|allianz arena",
    ("Hamburg", "DE"): "reeperbahn|elbphilharmonie|speicherstadt|hafencity|alster",
    ("Zurich", "CH"): "bahnhofstrasse|zurichsee|uetliberg|limmat",
    ("Vienna", "AT"): "prater|schonbrunn",
    ("Budapest", "HU"): "fisherman's bastion|szechenyi|ruin bars",
    ("Barcelona", "ES"): "sagrada familia|la rambla|las ramblas|camp nou|park guell|montjuic",
    ("Madrid", "ES"): "bernabeu|retiro park|el retiro|gran via|puerta del sol",
    ("Lisbon", "PT"): "alfama|bairro alto|tram 28|pasteis de belem|tagus",
    ("Porto", "PT"): "ribeira|francesinha|douro|dom luis",
    ("Stockholm", "SE"): "gamla stan|sodermalm|djurgarden", ("Gothenburg", "SE"): "liseberg|haga",
    ("Malmo", "SE"): "turning torso|oresund bridge|mollan",
    ("Helsinki", "FI"): "suomenlinna|kallio|linnanmaki|senate square",
    ("Turku", "FI"): "aura river|aurajoki|turku castle|ruisrock",
    ("Oslo", "NO"): "holmenkollen|vigeland|frogner|aker brygge", ("Bergen", "NO"): "bryggen|floyen",
    ("Copenhagen", "DK"): "nyhavn|tivoli gardens|christiania",
    ("Istanbul", "TR"): "bosphorus|hagia sophia|grand bazaar|galata|kadikoy|taksim",
    ("Ankara", "TR"): "kizilay|anitkabir", ("Athens", "GR"): "acropolis|plaka",
    ("Moscow", "RU"): "red square|kremlin",
    ("New York City", "US"): "brooklyn|manhattan|bronx|harlem|central park|times square|long island"
    "|staten island|coney island|yankee stadium|williamsburg|the subway",
    ("Los Angeles", "US"): "hollywood|venice beach|santa monica|beverly hills"
        "|city of angels|dodgers",
    ("San Antonio", "US"): "riverwalk|river walk|alamo|the spurs|fiesta texas|the pearl brewery",
    ("Cleveland", "US"): "lake erie|rock and roll hall of fame|the cavs|cuyahoga|cleveland browns",
    ("San Francisco", "US"): "golden gate|alcatraz|fisherman's wharf|haight ashbury",
    ("Chicago", "US"): "wrigley field|lake michigan|magnificent mile",
    ("Boston", "US"): "fenway|red sox", ("Seattle", "US"): "space needle|pike place",
    ("Toronto", "CA"): "cn tower|maple leafs|distillery district|kensington market|scarborough"
        "|leafs",
    ("Montreal", "CA"): "mont royal|mount royal|poutine|the habs|habs|montreal canadiens|st laurent"
    "|plateau mont royal|casse croute|bagels st viateur|la ronde",
    ("Vancouver", "CA"): "stanley park|gastown|granville island",
    ("Mexico City", "MX"): "xochimilco|coyoacan|zocalo|chapultepec|cdmx|teotihuacan",
    ("Guadalajara", "MX"): "tlaquepaque|birria|tapatio|torta ahogada|tortas ahogadas",
    ("Rio de Janeiro", "BR"): "copacabana|ipanema|maracana|sugarloaf|christ the redeemer|corcovado",
    ("Sao Paulo", "BR"): "avenida paulista|ibirapuera|sampa",
    ("Buenos Aires", "AR"): "la boca|recoleta|la bombonera|puerto madero|san telmo|boca juniors",
    ("Bogota", "CO"): "monserrate|la candelaria|transmilenio|ajiaco|usaquen",
    ("Cali", "CO"): "feria de cali|salsa capital|cholado|dia de las velitas|chontaduro",
    ("Tokyo", "JP"): "shibuya|shinjuku|akihabara|ginza|harajuku|roppongi|tsukiji|asakusa|sumida"
    "|monjayaki|yamanote|odaiba",
    ("Osaka", "JP"): "dotonbori|takoyaki|namba|umeda|universal studios japan",
    ("Nagoya", "JP"): "nagoya castle|miso katsu|hitsumabushi|sakae",
    ("Kyoto", "JP"): "gion|kinkakuji",
    ("Beijing", "CN"): "forbidden city|tiananmen|hutong|hutongs|great wall|sanlitun",
    ("Shanghai", "CN"): "the bund|pudong|xiaolongbao|nanjing road|huangpu",
    ("New Delhi", "IN"): "chandni chowk|connaught place|india gate|red fort|qutub minar|hauz khas",
    ("Mumbai", "IN"): "gateway of india|marine drive|bandra|vada pav",
    ("Kolkata", "IN"): "puchka|howrah|rosogolla|rasgulla|durga puja|victoria memorial|hooghly"
    "|kathi rolls|park street|eden gardens|mishti doi",
    ("Sydney", "AU"): "opera house|bondi|harbour bridge|manly beach|darling harbour|newtown",
    ("Melbourne", "AU"): "mcg|flinders street|fitzroy|st kilda|yarra|great ocean road"
        "|afl grand final",
    ("Perth", "AU"): "cottesloe|rottnest|fremantle|freo|quokka|quokkas|swan river|kings park",
    ("Auckland", "NZ"): "sky tower|ponsonby|waiheke|rangitoto|hauraki|city of sails",
    ("Wellington", "NZ"): "te papa|cuba street|beehive|oriental bay|lambton quay",
    ("Christchurch", "NZ"): "port hills|hagley park|avon river",
    ("Lusaka", "ZM"): "cairo road|nshima|east park mall|manda hill",
    ("Ndola", "ZM"): "levy mwanawasa stadium|makishi|copperbelt",
    ("Cairo", "EG"): "khan el khalili", ("Singapore", "SG"): "marina bay|sentosa|hawker centre",
}  # fmt: skip
LANDMARKS = {name: place for place, names in _LANDMARKS.items() for name in names.split("|")}
"""What stands for a city: sights, districts, clubs, dishes."""

_ORDINARY_WORDS = """
of can time much bank than most date say come march may best drama same buy coin holiday goes
male delta young mine airport cat tire nice along deal federal hit tank phoenix rich david pop
central surprise normal god allen george salt jackson pace green wedding evans moore murphy bar
save gay opportunity manage mary bake adam martin lawrence reading parker police columbus
liberty union marks superior alice split morton punch howard barry bear spring mile hopkins
arnold davis sparks ode sake fate rouge brad lopez leigh vincent hook hartley golden taylor
charlotte olympia mobile jordan enterprise palma wilson douglas stuart semi ho sheridan
elizabeth van saga bell kaya mesa lexington mendes pearl chelsea gary bow anderson nelson
fontaine university gore pa rodriguez marshall sterling republic jam virginia salem tempe lucas
kennedy queens mission dumas graham savage norton midway dover kim springs garcia franklin baran
bath metro nancy alot ann forest ron fleet humble temple tame bray godfrey lend hannibal begun
liberal gap leon rogers defiance castro lola bender liang orange roses crystal sale boom sydney
stanley wayne plato mon tucker perry bryan nada huntington sue modesto bowie se lira shu swords
anna un brent barrie dig bush rye jos everett plunge stains garner walker eagle donna awash
adrian panorama olympic wai independence bo ruse avon hem ye dire simmering murray lens barking
shirley tara mora tequila granger mojo damme sofia holden clive vera hermitage carey torrent
melville monroe apex oral cary horde paramount griffith bentley hudson marina burke kendall
sunset hue woodland bela bam retreat batman wheeling evergreen lacey mitchell campbell harvey
roy mason selby shaw brody moron griffin randolph harrison ali sabara mai officer molina tome
boone anchorage sandy brandon teresa umi kai butte fes sur papa gent cork muscat cayenne hun
summit brick ceres concord tracy zion tata converse florence kara casper gillette hola aloha
alliance edison alba miranda katy kyle stella marion bradley alicia bay patterson lier los ham
hell big bend turkey china guinea chad georgia cologne polish essen bari nantes ufa orsk bor ede
as ina ibb man her us jersey cuba angel victoria madison lincoln jefferson hamilton washington
eugene preston carson jasper troy homer clay pole poles roman finn kiwi scot dane thai brit turk
persian yankee english french alamo west east north south point rock hill park river lake grand
haga rialto sakae prater seine manda leafs birria hollywood scarborough jordaan beehive namba
spree spurs alster recoleta retiro frogner plaka gion kallio camden newtown freo desi new old ad
is by do no or mar ur sun om og ii iii xi vi toledo mali niger togo oman la santa san valley
holland macedonia burma wales nova ridge hope progress commerce industry story paradise
riverside mountain ocean harbor bridge country christian norman oliver rosa laura diana carol
irving raymond glen elgin sidney
"""
ORDINARY_WORDS = frozenset(_ORDINARY_WORDS.split())
"""Words, and names of persons, that are also names of places."""
