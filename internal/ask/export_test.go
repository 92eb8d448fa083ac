package ask

const LearnPatience = learnPatience
