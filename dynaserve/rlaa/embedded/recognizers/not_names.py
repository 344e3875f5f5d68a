"""Words with a capital that are no names of persons, by how much a cue before them says.

Nearly every word is somebody's name: after "Dr." a "King" or a "Good" is a person. So the surer the
cue, the fewer words count as none.
"""

from __future__ import annotations

_OPENERS = "i the it this that they we my our your and but if in is there please not"
OPENERS = frozenset(_OPENERS.split())
"""Words that begin a sentence or a remark even after a title with its stop."""

_GRAMMAR = """
the an this that these those i im it my we he they she you your his her our their its me him us in
on at by to of off up out from with for and or but if so as than then not no yes is are was were be
been being am do does did done has have had would can could shall should must what when where why
who how which because while until about into over under after before during hello hi hey thanks
thank please there here
"""
GRAMMAR = frozenset(_GRAMMAR.split())
"""Words by which a sentence goes on, whoever was named: they end every name."""

_REMARKS = """
yeah good great bad nice maybe sir miss mister ma'am ma old new crazy back later again now today
tonight tomorrow yesterday soon always never ever just only also even still already really very too
more most all any some every both will may might go goes going gone get got come comes came see sees
saw say says said tell tells told ask call calls called know think want need like love live lived
lives work works make take well ok okay sorry happy sad tired sure ready late early free busy fine
glad afraid interested excited looking trying feeling having getting doing making wondering reading
writing running team type gen generation home house day week year time people man woman guy girl mom
dad mother father wife husband monday tuesday wednesday thursday friday saturday sunday
"""
REMARKS = GRAMMAR | frozenset(_REMARKS.split())
"""Those and ordinary words: in capitals throughout they end a name."""

_DESCRIPTIONS = """
pro anti january february march july september october november december christmas easter santa
batman superman groot god catholic christian jewish muslim hindu buddhist sikh mormon protestant
orthodox lutheran baptist atheist republican democrat liberal conservative black white asian african
european american latino latina hispanic arab native bisexual gay straight queer trans autistic
bipolar vegan deaf dyslexic aries taurus gemini cancer leo virgo libra scorpio sagittarius capricorn
aquarius pisces professor ceo cto captain president manager director king queen north south east
west northern southern eastern western central mid upper lower
"""
NO_NAMES = REMARKS | frozenset(_DESCRIPTIONS.split())
"""Those and what people say they are: no names unless the cue is sure."""

GIVEN = frozenset({"will", "leo", "christian"})
"""First names all the same, where somebody is introduced."""
FAMILY = frozenset({"black", "white", "king", "day"})
"""Last names all the same, after a first one or a title in lower case."""
