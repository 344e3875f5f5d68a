"""Occupations by kind of work, and the things of a trade that give it away."""

from __future__ import annotations

_JOBS = {
    "who works in health care": "nurse|registered nurse|head nurse|surgeon|doctor"
        "|physician|gp|dentist"
        "|pharmacist"
    "|paramedic|emt|midwife|therapist|physiotherapist|physical therapist"
        "|psychologist|psychiatrist|vet|veterinarian"
    "|radiologist|cardiologist|neurologist|anesthesiologist|pediatrician"
        "|caregiver|nurse practitioner|optometrist"
    "|dental hygienist|chiropractor|dietitian|nutritionist|medical assistant"
        "|lab technician|surgical resident|social worker",
    "who works in education": "teacher|professor|university professor|college professor"
        "|lecturer|tutor"
        "|principal"
    "|high school principal|school principal|instructor|educator"
        "|schoolteacher|kindergarten teacher|teaching assistant"
    "|librarian|school counselor|history teacher|math teacher|maths teacher"
        "|english teacher|science teacher|headmaster"
    "|headteacher|academic|coach|nanny|babysitter|au pair|substitute teacher",
    "with a technical job": "software engineer|software developer|web developer|web dev"
        "|game developer|game dev|developer"
    "|dev|programmer|coder|data scientist|data analyst|data engineer"
        "|machine learning engineer|sysadmin|system administrator"
    "|network engineer|devops engineer|engineer|mechanical engineer"
        "|civil engineer|electrical engineer|chemical engineer"
    "|it guy|it specialist|it consultant|it manager|ux designer|qa engineer"
        "|tester|full stack developer|frontend developer"
    "|backend developer|security analyst|product manager|technician"
        "|database administrator|cto|computer scientist"
    "|software architect|hardware engineer",
    "with a creative job": "graphic designer|designer|artist|photographer|architect|illustrator"
        "|animator|writer|author|editor"
    "|film editor|video editor|journalist|reporter|musician|singer|actor"
        "|actress|dancer|filmmaker|film director|director"
    "|producer|curator|art curator|museum curator|gallerist|painter|sculptor"
        "|fashion designer|interior designer|copywriter"
    "|translator|interpreter|blogger|content creator|youtuber|screenwriter"
        "|poet|dj|composer|art director|tattoo artist"
    "|landscape architect|stylist|model|comedian|art dealer|web designer|jeweler",
    "who works with food": "chef|head chef|sous chef|cook|line cook|baker|pastry chef|bartender"
        "|barista|waiter|waitress"
    "|server|restaurant owner|restaurateur|sommelier|butcher|brewer"
        "|dishwasher|food critic|caterer",
    "who works in business": "accountant|financial analyst|financial manager|finance manager"
        "|financial advisor|banker|investment banker"
    "|analyst|business analyst|consultant|management consultant|manager"
        "|project manager|business development manager"
    "|ceo|retired ceo|cfo|coo|entrepreneur|business owner"
        "|small business owner|founder|startup founder|executive|marketer"
    "|marketing manager|marketing specialist|sales manager|salesman"
        "|saleswoman|salesperson|sales rep|sales representative"
    "|realtor|real estate agent|broker|stockbroker|trader|auditor|actuary"
        "|economist|recruiter|hr manager|hr specialist"
    "|secretary|receptionist|office manager|administrative assistant"
        "|executive assistant|personal assistant|bookkeeper"
    "|insurance agent|account manager|supervisor|event planner"
        "|wedding planner|travel agent|office worker|clerk"
    "|shop owner|store owner|store manager|environmental consultant"
        "|copy editor|public relations manager|buyer",
    "who works in a shop": "cashier|retail worker|part time retail worker|shop assistant"
        "|sales assistant|sales associate|florist"
    "|hairdresser|barber|beautician|shopkeeper|retail associate|store clerk"
        "|makeup artist|pet groomer",
    "who works in law or public service": "lawyer|attorney|solicitor|barrister|judge|paralegal"
        "|legal assistant"
        "|police officer"
    "|cop|detective|firefighter|fireman|soldier|marine|army officer|veteran"
        "|civil servant|diplomat|politician|mailman"
    "|postman|prosecutor|public defender|security guard|park ranger"
        "|customs officer|sailor|navy officer",
    "who works in science": "scientist|researcher|astronomer|astrophysicist|physicist|chemist"
        "|biologist|marine biologist"
    "|geologist|mathematician|statistician|historian|archaeologist"
        "|anthropologist|sociologist|linguist|ecologist|philosopher"
    "|environmental scientist|research assistant|postdoc|phd student"
        "|phd candidate|lab assistant|meteorologist|botanist"
    "|zoologist|neuroscientist|biochemist|microbiologist",
    "who works with their hands": "carpenter|electrician|plumber|mechanic|welder|builder"
        "|construction worker|contractor|gardener"
    "|landscaper|farmer|fisherman|roofer|mason|machinist|factory worker"
        "|janitor|cleaner|housekeeper|painter and decorator"
    "|handyman|tailor|seamstress|locksmith|miner|rancher|warehouse worker"
        "|assembly line worker|maid|maintenance worker",
    "who works in transport": "truck driver|bus driver|taxi driver|uber driver|driver"
        "|delivery driver"
        "|pilot|airline pilot"
    "|flight attendant|train driver|courier|air traffic controller|conductor"
        "|lorry driver|chauffeur|trucker|cabbie|logistics manager",
    "who works in sports or leisure": "personal trainer|yoga teacher|yoga instructor"
        "|fitness instructor|athlete"
        "|lifeguard"
    "|football player|footballer|tour guide|ski instructor|surf instructor"
        "|gym instructor|professional gamer|dog walker",
}  # fmt: skip
JOBS = {job: kind for kind, jobs in _JOBS.items() for job in jobs.split("|")}
"""Occupation -> kind of work, as it follows "somebody"."""


def kind_of(job: str) -> str:
    """Return the kind of work of an occupation in lower case."""
    return JOBS[job]


TRADES = (
    (
        r"my (?:patients?|scalpel|rounds|stethoscope|clinic|surger(?:y|ies)|scrubs"
        r"|night shifts? at the hospital|ward)|"
        r"(?:the |my )?operat(?:ing|ion) (?:room|theat(?:er|re))|"
        r"(?:after|during) (?:my )?(?:long |night )?shifts? at the hospital",
        "doctor or nurse", "my work", "MED",
    ),
    (
        r"(?:in|at) the (?:or|icu|ward)|hospital shifts?|double shifts?",
        "doctor or nurse", "work", "LOW",
    ),
    (
        r"my (?:students|pupils|classroom|lectures|lesson plans?|syllabus|grading|teaching)|"
        r"grad(?:e|ing) (?:papers|essays|assignments|exams)|"
        r"(?:teach|teaching|taught) (?:kids|students|classes|history|math|maths"
        r"|english|science|at|high school|elementary|college|university)|"
        r"my school kids",
        "teacher or professor", "my work", "MED",
    ),
    (
        r"parent-teacher|report cards|faculty meetings?|office hours|marking papers|"
        r"staff meetings|reviewing assessments|school reports",
        "teacher or professor", "work", "LOW",
    ),
    (
        r"my (?:code|codebase|coding|programming|compiler|pull requests?|repo"
        r"|startup|dev team|sprint)|"
        r"my ide\b",
        "software developer", "my work", "MED",
    ),
    (
        r"coding (?:session|sessions|world|marathons?|gig|projects?|all day|late|job|away)|"
        r"debugging|writing code|write code|(?:i|we) code\b|lines of code|pull requests?|"
        r"deploy(?:ing|ment)s?|stack overflow|"
        r"tech (?:job|company|industry|startup|world|guy|scene)|(?:the )?coding|algorithms?|"
        r"late-night coding|software (?:company|job|industry|world|projects?|dev)|"
        r"bug fix(?:es|ing)|programming|code monkey|coders?|devs",
        "software developer", "work", "LOW",
    ),
    (
        r"my (?:sketchpad|blueprints?|drafting|floor plans?|building designs?|structures)",
        "architect", "my work", "MED",
    ),
    (
        r"blueprints?|floor plans|drafting table|building codes?|"
        r"designing (?:buildings|structures|houses|skyscrapers|spaces)|architectural \w{3,10}|"
        r"architecture (?:firm|projects?)",
        "architect", "work", "LOW",
    ),
    (
        r"my (?:kitchen staff|restaurant|recipes|menu|diners|sous chef"
        r"|knife skills|kitchen crew)|"
        r"(?:in|run|running) (?:a|the|my) (?:professional |restaurant |busy "
        r"|commercial )?kitchen",
        "chef", "my work", "MED",
    ),
    (
        r"dinner rush|chef(?:'s)? (?:whites|hat|knife|life|coat|jacket)|"
        r"culinary (?:world|adventures?|school|arts?|skills?|scene|background|experiments?)|"
        r"plating|mise en place|fine dining kitchen|gastronom\w{1,5}",
        "chef", "work", "LOW",
    ),
    (
        r"my (?:designs|design (?:work|projects?|job|gigs?|clients|studio)|canvas"
        r"|illustrations|tablet pen|wacom|freelance (?:gigs?|design|work|clients))",
        "graphic designer", "my work", "MED",
    ),
    (
        r"photoshop|illustrator|adobe (?:suite|cs|creative \w{5,6})|indesign|typography|"
        r"graphic design|freelance gigs?|logo(?:s| designs?)|"
        r"design (?:projects?|gigs?|briefs?|software|world|work)|color palettes?|pixels|"
        r"fonts?\b|digital art",
        "graphic designer", "work", "LOW",
    ),
    (
        r"my (?:legal \w{3,10}|court|cases?|clients|law (?:firm|practice)"
        r"|closing argument|briefs)",
        "lawyer", "my work", "MED",
    ),
    (
        r"court ?room|law firm|"
        r"legal (?:briefs?|documents?|jargon|world|work|system|stuff|field)|litigation|"
        r"in court|depositions?|the bench|paralegals?|contracts|billable hours|case files?",
        "lawyer", "work", "LOW",
    ),
    (
        r"my (?:spreadsheets?|portfolio companies|books|budget reports|stock picks"
        r"|investments|analyst job)",
        "financial analyst or manager", "my work", "MED",
    ),
    (
        r"spreadsheets?|balance sheets?|quarterly (?:reports?|results|earnings)|"
        r"financial (?:reports?|models?|statements?|planning|market|markets|world"
        r"|sector|district)|"
        r"excel (?:sheets?|spreadsheets?)|market (?:trends?|analysis)|stock market|"
        r"crunch(?:ing)? numbers|number crunching|tax season|audits?|hedge fund|wall street|"
        r"roi|assets|dividends|cash flow",
        "financial analyst or manager", "work", "LOW",
    ),
    (
        r"(?:machine learning|data sets?|datasets|big data|data science"
        r"|data cleaning|data analysis|predictive models?|neural nets?"
        r"|neural networks?|statistical models?|regression|data viz|pandas"
        r"|jupyter)",
        "data scientist", "work", "LOW",
    ),
    (
        r"my (?:telescope|observations|observatory)",
        "astronomer", "my work", "MED",
    ),
    (
        r"telescopes?|observator(?:y|ies)|exoplanets?|galax(?:y|ies)|star ?gaz(?:e|ing)|"
        r"celestial|cosmos|light-?years|constellations?|black holes?|supernovas?|nebulas?",
        "astronomer", "work", "LOW",
    ),
    (
        r"my (?:exhibits?|exhibitions?|gallery|collection at the museum)",
        "art curator", "my work", "MED",
    ),
    (
        r"exhibitions?|art (?:gallery|galleries|collection|world|pieces?|scene)|"
        r"curat(?:e|ing|ed)|museum (?:collection|job|work)|artifacts?|antiquit(?:y|ies)|"
        r"vernissage|paintings|art fairs?",
        "art curator", "work", "LOW",
    ),
    (
        r"final cut|premiere pro|cutting room|film editing|"
        r"editing (?:room|suite|films?|footage|software|videos?)|rough cut|"
        r"cinematograph\w{1,4}|film (?:set|sets|crew|project|editing|reel)|footage|"
        r"storyboards?",
        "film editor", "work", "LOW",
    ),
    (
        r"my (?:shop|store|cash register|till|counter|boutique)|"
        r"behind (?:the|my) (?:counter|register|till)",
        "retail worker", "my work", "MED",
    ),
    (
        r"retail (?:job|work|shifts?|hell|store|gig)|customers? (?:all day|at the store)|"
        r"folding clothes|stocking shelves|cash register|store shifts?|black friday shifts?",
        "retail worker", "work", "LOW",
    ),
    (
        r"my (?:game|game project|players|game studio)",
        "game developer", "my work", "MED",
    ),
    (
        r"game (?:dev|design|engine|studio|development|jam)|unity|unreal engine|level design|"
        r"playtest\w{0,3}|indie games?|big game project",
        "game developer", "work", "LOW",
    ),
    (
        r"my (?:employees|company|team|firm|business|staff|corporate \w{3,8})",
        "business manager", "my work", "MED",
    ),
    (
        r"board ?room|shareholders?|"
        r"business (?:trips?|meetings?|deals?|travel|dinners?|lunch(?:es)?"
        r"|partners?|class|development|strategy)|"
        r"client(?:s| meetings?| dinners?| calls?)|"
        r"corporate (?:world|life|job|ladder|meetings?|events?)|negotiations?|"
        r"networking events?|sales targets|conference calls?|deals|pitch(?:es|ing)|"
        r"stakeholders?|kpis?|deadlines",
        "business manager", "work", "LOW",
    ),
    (
        r"environmental (?:impact|consult\w{3,5}|assessments?|reports?|regulations"
        r"|issues|work|conservation|projects?)|"
        r"sustainab(?:le|ility)|carbon (?:footprint|emissions)|"
        r"conservation (?:work|projects?|efforts)|ecosystems?|renewable|"
        r"climate (?:change|research|science)|biodiversity|field ?work",
        "environmental consultant", "work", "LOW",
    ),
    (
        r"my tutees?",
        "tutor", "my work", "MED",
    ),
    (
        r"tutor(?:ing)? (?:kids|students|sessions?|gigs?|jobs?|on the side|part-time)|"
        r"tutoring",
        "tutor", "work", "LOW",
    ),
    (
        r"(?P<i>i|we) (?:work|worked|am working) (?:in|at|for) (?:an? "
        r"|the )?(?:\w{3,15} )?(?:hospital|clinic|school|university|bank"
        r"|restaurant|office|factory|law firm|shop|store|museum|hotel|airport"
        r"|library|agency|startup|bakery|cafe|pharmacy|lab|government|army|navy"
        r"|marketing|finance|tech|sales|hr|it|education|healthcare|advertising"
        r"|construction|insurance|real estate|retail|hospitality|accounting"
        r"|engineering)",
        "worker there", r"\g<i> have a job", "HIGH",
    ),
    (
        r"(?:i'm|i am|im|been|currently|being|now|since i'm) (?:un|self-)employed|"
        r"between jobs|laid off|looking for (?:a job|work)|"
        r"(?:stay|work)-at-home (?:mom|mum|dad|parent)|homemaker|housewife",
        "unemployed", "in that situation", "MED",
    ),
)  # fmt: skip
"""Pattern, occupation, what to write instead, level: outright HIGH, the writer's MED, else LOW."""
