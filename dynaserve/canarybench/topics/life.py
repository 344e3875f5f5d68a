"""Topics of the corpus about health, travel, work and learning."""

from __future__ import annotations

from dynaserve.canarybench.topics.topic import Topic

TOPICS = (
    Topic(
        "sleep",
        words={
            "trouble": ("wake up at three", "cannot fall asleep", "sleep badly", "wake up tired"),
            "aid": ("melatonin", "herbal tea", "a new mattress", "ear plugs", "a sleep app"),
        },
        situations=(
            "I {trouble} although I go to bed early.",
            "Since I work night shifts I {trouble}.",
            "I {trouble} and my partner says that I snore.",
            "I tried {aid} for my sleep and nothing changed.",
            "My sleep got worse when I stopped drinking coffee.",
            "My sleep tracker reports hardly any deep sleep.",
        ),
        details=(
            "The bedroom is dark and cool at night.",
            "I look at my phone in bed.",
            "It has been like that for {weeks} weeks.",
            "At the weekend I sleep until noon.",
            "{aid} helped me sleep for a while.",
            "I feel tired all day.",
        ),
        requests=(
            "What helps to fall asleep?",
            "Should I see a doctor about my sleep?",
            "How much sleep do I need?",
            "Is {aid} worth it?",
            "How do I get back to a sleep rhythm?",
            "Can naps make my sleep worse?",
        ),
    ),
    Topic(
        "fitness",
        words={
            "sport": ("running", "swimming", "cycling", "weight training", "yoga"),
            "pain": ("sore knees", "a stiff back", "shin pain", "cramps"),
        },
        situations=(
            "I started {sport} and get {pain} after training.",
            "I am training for a race and my pace does not improve.",
            "I want a training plan for {sport} at home.",
            "My {sport} coach changed the training plan.",
            "After an injury I want to take up {sport} again.",
            "I do not lose weight in spite of {sport} and a training plan.",
        ),
        details=(
            "I train three times a week.",
            "I stretch before training.",
            "My shoes are new.",
            "The race is in {weeks} weeks.",
            "I have done {sport} for {months} months.",
            "I get {pain} on rest days as well.",
        ),
        requests=(
            "How do I train without {pain}?",
            "Can you write me a training plan?",
            "How many rest days does {sport} need?",
            "Which exercises go with {sport}?",
            "Should I train more or less?",
            "What should I eat before training?",
        ),
    ),
    Topic(
        "flights",
        words={
            "trip": ("honeymoon", "business trip", "family visit", "class reunion"),
            "event": ("cancelled", "delayed overnight", "overbooked", "moved to another day"),
        },
        situations=(
            "My flight for a {trip} was {event} by the airline.",
            "The airline lost my suitcase on a {trip}.",
            "I missed a connecting flight on my {trip}.",
            "I booked a flight for a {trip} under a misspelt name.",
            "My return flight was {event} while I was at the airport.",
            "The airline charges extra for the hand luggage on my flight.",
        ),
        details=(
            "The airline offered a voucher at the gate.",
            "The airport hotel was full.",
            "I booked the flight through a travel site.",
            "The suitcase has been missing for {days} days.",
            "The next flight was full as well.",
            "The boarding pass shows the old time.",
        ),
        requests=(
            "Am I owed compensation by the airline?",
            "How do I change the flight?",
            "What do I have to tell the airline?",
            "Who pays for the hotel at the airport?",
            "How do I claim for the suitcase?",
            "Can I cancel the return flight only?",
        ),
    ),
    Topic(
        "holiday planning",
        words={
            "goal": ("the mountains", "an island", "a big city", "the coast", "a lake"),
            "with": ("with two children", "with friends", "alone", "with my parents"),
        },
        situations=(
            "We plan a holiday at {goal} {with} in {month}.",
            "I want to travel by train to {goal} {with}.",
            "I look for a quiet holiday cottage near {goal}.",
            "Our holiday at {goal} is only {days} days long.",
            "I have a small budget for a holiday {with}.",
            "The holiday cottage near {goal} was not as described.",
        ),
        details=(
            "We like hiking and good food on holiday.",
            "We travel without a car.",
            "The cottage should have a kitchen.",
            "It must not be too hot at {goal}.",
            "We have been to {goal} once before.",
            "The budget covers travel and a cottage.",
        ),
        requests=(
            "Can you suggest an itinerary?",
            "Where should we stay?",
            "What is the best season for such a holiday?",
            "What should we pack?",
            "How do we get there by train?",
            "Which sights at {goal} are worth it?",
        ),
    ),
    Topic(
        "job search",
        words={
            "job": ("nurse", "accountant", "software developer", "teacher", "warehouse manager"),
            "stage": ("phone interview", "second interview", "trial day", "assessment centre"),
        },
        situations=(
            "I have a {stage} for a job as {job}.",
            "I apply for jobs as {job} and only get rejections.",
            "There is a gap of {months} months in my résumé.",
            "I was offered a job as {job} with a lower salary than I asked for.",
            "After the {stage} the recruiter stopped answering.",
            "I want to switch careers and become a {job}.",
        ),
        details=(
            "The recruiter found my résumé online.",
            "I have {years} years of experience in the job.",
            "My résumé is two pages long.",
            "The salary was not mentioned in the interview.",
            "I have another job offer.",
            "My notice period is {months} months.",
        ),
        requests=(
            "How do I prepare for the interview?",
            "How do I negotiate the salary?",
            "Can you improve my résumé?",
            "What do I write to the recruiter?",
            "Should I accept the job offer?",
            "Which questions will they ask in the interview?",
        ),
    ),
    Topic(
        "language learning",
        words={
            "language": ("Spanish", "Japanese", "Italian", "Polish", "Arabic", "Portuguese"),
            "skill": ("grammar", "vocabulary", "pronunciation", "listening"),
        },
        situations=(
            "I am learning {language} and struggle with the {skill}.",
            "I have an exam in {language} in {weeks} weeks.",
            "I can read {language} but not speak it.",
            "I forget {language} words as fast as I learn them.",
            "My {language} course moves too fast for me.",
            "I want to learn {language} before I move abroad.",
        ),
        details=(
            "I study {language} for half an hour a day.",
            "The textbook explains hardly any {skill}.",
            "My teacher speaks only {language} in the course.",
            "I use flash cards for the vocabulary.",
            "Verbs are the hardest part of {language}.",
            "I have no one to speak {language} with.",
        ),
        requests=(
            "How can I practise {skill}?",
            "Which books help with {language}?",
            "Can you explain the verbs?",
            "Can you make exercises for {language}?",
            "How long does it take to speak {language}?",
            "How do I remember words?",
        ),
    ),
)
