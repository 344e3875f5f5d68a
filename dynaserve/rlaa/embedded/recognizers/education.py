"""What the writer has learned, where, and whether that is over."""

from __future__ import annotations

from collections.abc import Iterator

from dynaserve.rlaa.embedded.finding import Finding
from dynaserve.rlaa.embedded.recognizers.phrases import Phrase, Phrases
from dynaserve.rlaa.records import Level

_HIGH, _MED, _LOW = Level.HIGH, Level.MED, Level.LOW
FIELDS = (
    r"(?:astrophysics|astronomy|physics|chemistry|biology|biochemistry"
    r"|mathematics|maths?|statistics"
    r"|computer science|cs|comp sci|computer engineering|software engineering"
    r"|data science|information technology"
    r"|(?:electrical |mechanical |civil |chemical )?engineering|(?:german "
    r"|english |french |comparative )?literature"
    r"|english|philosophy|(?:art )?history|fine arts|visual arts?|arts?"
    r"|graphic design|fashion(?: design)?|design"
    r"|architecture|film(?: studies)?|music|theat(?:er|re)|journalism"
    r"|communications?|linguistics|languages"
    r"|psychology|psych|sociology|anthropology|political science|poli sci"
    r"|international relations|law"
    r"|economics|econ|business(?: administration)?|commerce|finance|accounting"
    r"|marketing|management|hospitality"
    r"|education|teaching|nursing|medicine|pharmacy|dentistry|veterinary \w{3,9}|public health"
    r"|environmental (?:sciences?|studies)|geology|geography|ecology"
    r"|agriculture|culinary arts|theology)"
)
_OF = rf"(?:(?: degree| diploma)?(?: (?:in|of) {FIELDS})?)"
_DOCTOR = (
    r"(?:ph\.?d\.?|doctorate|doctoral(?: (?:degree|thesis|studies|research"
    r"|work))?|dissertation)"
)
_MASTER = (
    r"(?:master'?s(?: (?:thesis|degree|program|studies))?|m\.?sc\.?|mba|m\.a\."
    r"|m\.eng|llm|graduate degree)"
)
_BACHELOR = (
    r"(?:bachelor'?s(?: (?:thesis|degree|studies))?|b\.?sc\.?|b\.a\.|bba"
    r"|b\.?com|b\.eng|llb|undergrad(?:uate)?(?: (?:degree|thesis|studies|days"
    r"|years?))?)"
)
_VERB = (
    r"(?P<verb>(?:have|got|hold|holding|with|earned|finished|finishing|did"
    r"|doing|completed|completing"
    r"|getting|during|of|for|since|pursuing|pursued|towards|working on"
    r"|studying (?:for|towards)|i'm in|in) )?"
)
_I = (
    r"(?P<i>I|I'm|I am|I've|I have|I was|we|I'd|when I|while I|after I|since I"
    r"|I'm currently|I am currently|currently|I'm still|still|I was busy|busy"
    r"|me)"
)


def _degree(pattern: str, guess: str) -> tuple[Phrase, ...]:
    field = rf"(?P<field>{FIELDS})"
    studied = rf"{pattern}(?: degree| diploma|'s)? (?:in|of) {field}"
    return (
        Phrase(rf"{_VERB}my {studied}", rf"{guess} in \g<field>", r"\g<verb>my studies", _HIGH),
        Phrase(rf"{_VERB}an? {studied}", rf"{guess} in \g<field>", r"\g<verb>some studies", _HIGH),
        Phrase(rf"{_VERB}my {pattern}(?: degree| diploma)?", guess, r"\g<verb>my studies", _HIGH),
        Phrase(
            r"(?P<verb>(?:have|got|hold|pursuing|did|doing"
            rf"|finished) )an? {pattern}(?: degree| diploma)?",
            guess,
            r"\g<verb>some studies",
            _HIGH,
        ),
        Phrase(studied, rf"{guess} in \g<field>", "studies", _MED),
        Phrase(rf"{pattern}(?: degree| diploma)?", guess, "studies", _LOW),
    )


_PHRASES = Phrases(
    "education",
    (
        *_degree(_DOCTOR, "PhD"),
        *_degree(_MASTER, "Masters"),
        *_degree(_BACHELOR, "Bachelors"),
        Phrase(
            rf"(?:my|have an?|got an?|hold an?|with an?) (?P<field>{FIELDS}) (?:degree"
            r"|diploma|major|studies)",
            r"degree in \g<field>",
            "my studies",
            _HIGH,
        ),
        Phrase(
            rf"(?:my|have an?|with an?|got an?) degree(?! of)(?: in (?P<field>{FIELDS}))?",
            "degree",
            r"my studies",
            _MED,
        ),
        Phrase(
            r"(?:degree|diploma|background|major|majored|majoring|graduated"
            rf"|graduate) in (?P<field>{FIELDS})",
            r"Bachelors in \g<field>",
            "studies",
            _HIGH,
        ),
        Phrase(
            rf"{_I}(?: (?:was|am|busy|still|currently|been))? (?:study(?:ing)?|studied"
            r"|majored in|majoring in|major in"
            rf"|read(?:ing)?) (?P<field>{FIELDS})(?: (?:at|in) (?:school|uni|university"
            r"|college))?",
            r"studying \g<field>",
            r"\g<i> spent time on studies",
            _HIGH,
        ),
        Phrase(
            rf"(?:studying|studied) (?P<field>{FIELDS})", r"studying \g<field>", "learning", _MED
        ),
        Phrase(
            r"(?:as an? |I'm an? |I am an? |being an? "
            rf"|fellow )(?P<field>{FIELDS}) (?:student|major|grad|graduate|undergrad"
            r"|buff|nerd)",
            r"studying \g<field>",
            "as a learner",
            _HIGH,
        ),
        Phrase(
            rf"(?:my|our) (?P<field>{FIELDS}) (?:professors?|lectures?|class(?:es)?"
            r"|courses?|seminars?|exams?|finals|classmates|department|background"
            r"|textbooks?|assignments?|coursework|prof|program|school)",
            r"studying \g<field>",
            "my courses",
            _HIGH,
        ),
        Phrase(
            r"(?:as an? |I'm an? |I am an? |being an? |when I was an? |as a broke "
            r"|as a poor )(?:\w{2,12} )?(?:college|uni|university|undergrad(?:uate)?"
            r"|graduate|grad|phd|exchange|law|med|medical|film|art|design|business"
            r"|nursing|commerce) ?(?:student|school student)",
            "studying",
            "as a learner",
            _HIGH,
        ),
        Phrase(
            r"law school|my law degree|the bar exam|bar exam|(?:juris doctor|jd)",
            "Law Degree",
            "my schooling",
            _MED,
        ),
        Phrase(
            r"med(?:ical)? school|my (?:residency|internship at the hospital|rotations)",
            "Doctorate in Medicine",
            "my schooling",
            _MED,
        ),
        Phrase(r"(?:film|art|design|fashion) school", "Bachelors in Arts", "my schooling", _MED),
        Phrase(
            r"(?:business|b-) ?school", "Masters in Business Administration", "my schooling", _MED
        ),
        Phrase(r"nursing school", "Diploma in Nursing", "my schooling", _MED),
        Phrase(r"culinary school", "culinary diploma", "my schooling", _MED),
        Phrase(
            r"(?:grad|graduate) school|my thesis|my advisor|my supervisor at (?:uni"
            r"|university)|post-?doc",
            "Masters",
            "my schooling",
            _MED,
        ),
        Phrase(
            r"(?:never|didn't|did not) (?:went|go|make it|finish"
            r"|attend)(?:ed)?(?: to)? (?:college|uni|university|a university)|(?:only"
            r"|just) (?:a |my |have a |got a )?high school(?: diploma)?"
            r"|my high school diploma|no (?:fancy |college |uni(?:versity)? )(?:degree"
            r"|education)|(?:skipped|dropped out of) (?:college|uni|university)|ged"
            r"|(?:straight )?(?:after|out of|since) high school|school of hard knocks"
            r"|self-taught",
            "High School Diploma",
            "what I learned",
            _MED,
        ),
        Phrase(r"dropped out of (?:high )?school|drop-?out", "dropout", "what I learned", _MED),
        Phrase(
            r"(?:in|at|back in|during) (?:my |the )?(?:uni|university|college"
            r"|undergrad)(?: days| years| time| life)?|my (?:uni|university|college"
            r"|alma mater|undergrad|professors?|profs?|lecturers?|dorm|campus|faculty"
            r"|student (?:days|years|life|loans?))(?: days| years)?|college (?:days"
            r"|years)|uni(?:versity)? days|student days",
            "Bachelors",
            "back then",
            _LOW,
        ),
        Phrase(
            r"(?:my|upcoming) (?:finals|midterms|lectures|exams|coursework|semester"
            r"|lecture|essays|student budget|student life)|(?:study|exam|finals"
            r"|cram) sessions?|assignments?|between classes|group projects?|textbooks"
            r"|semester",
            "studying",
            "my days",
            _LOW,
        ),
        Phrase(
            r"(?P<lead>(?:graduated|graduate|degree|studied|study|studying"
            r"|alumn\w{1,3}|went|go|attended|attending|attend|enrolled|accepted"
            r"|student)(?: (?:from|at|of|to|in"
            r"|into))?(?: the)?) (?:university of (?:\w{3,20} ?){1,3}"
            r"|\w{3,20} (?:university|college|institute of technology)|mit|harvard"
            r"|stanford|yale|princeton|oxford|cambridge|caltech|ucla|nyu"
            r"|eth(?: zurich)?|berkeley|sorbonne|unisa|uct)",
            "Bachelors",
            r"\g<lead> a university",
            _MED,
        ),
        Phrase(
            r"my (?:degree|schooling|diploma|formal education|academic background"
            r"|research|academic career)",
            "degree",
            "what I learned",
            _LOW,
        ),
    ),
)


def education(text: str) -> Iterator[Finding]:
    """Find degrees, fields, schools and what students say."""
    return _PHRASES.find(text)
