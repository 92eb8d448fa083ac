package ask

const LearnPatience = learnPause
