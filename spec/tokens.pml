/*
 * Tokens: how they are made, admission, repair and re-entry, against an adversary
 * that controls time.
 *
 * Promise: tokens of completed acquisitions are unique, and each is above every
 * token that was complete before its attempt began. A re-entry succeeds only while
 * no higher token is complete. No clock is read. Any lock may vanish at any moment
 * (expiry, a jump of a master's clock, a paused holder, a release). Any message may
 * be late, or be executed twice.
 *
 * Each rule of the protocol has a switch, with the same name as in the Go tests.
 * With all switches as they are here, no assertion fails. If one is weakened, an
 * assertion fails (docs/MODEL.md).
 *
 *   CONFIRM      1  an acquisition whose votes have different grant numbers counts
 *                   once a quorum of masters stands at the token: a master below it
 *                   (a laggard) confirms, which raises its counter to the token
 *                0  it counts at once, with the highest grant number as its token
 *   STANDING     2  a laggard confirms only while the same grant that voted stands
 *                1  it confirms while the caller owns the lock there
 *                0  it always confirms
 *   ADMIT        1  a master that lost something votes only after readmission
 *                0  at once
 *   QUARANTINE   1  readmission begins when every vote that was given before the
 *                   loss has lapsed (votes are valid for the ttl)
 *                0  it begins at once
 *   LAPSE        1  a vote that lapsed no longer stands for a token
 *                0  it still stands, if a quorum of the attempt's votes is valid
 *   RAISE        1  readmission raises the counter to the highest one of a quorum of
 *                   the other admitted masters
 *                0  it raises the counter to that of any one of them
 *   FLOOR        1  when a majority is out, all counters are raised to the highest
 *                   counter of all masters, and to the Unix time
 *                0  they are raised only to the highest counter
 *   SAMEPROCESS  2  the write that admits a master is refused if the master lost
 *                   anything since the survey
 *                1  it is refused if the server is another process: FLUSHALL and DEL
 *                   are not noticed
 *                0  it is never refused
 *   REENTRY      1  a re-entry never creates a lock
 *                0  it creates one where there is none
 *
 * The model is one process. Each branch of its loop is one thing that may happen
 * next. Each is atomic, because a script is atomic on its master.
 */

#ifndef CONFIRM
#define CONFIRM 1
#endif
#ifndef STANDING
#define STANDING 2
#endif
#ifndef ADMIT
#define ADMIT 1
#endif
#ifndef QUARANTINE
#define QUARANTINE 1
#endif
#ifndef LAPSE
#define LAPSE 1
#endif
#ifndef RAISE
#define RAISE 1
#endif
#ifndef FLOOR
#define FLOOR 1
#endif
#ifndef SAMEPROCESS
#define SAMEPROCESS 2
#endif
#ifndef REENTRY
#define REENTRY 1
#endif

/* Bounds. */
#ifndef N
#define N 3         /* masters */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2  /* fresh acquisitions; all of them may be under way at once */
#endif
#ifndef SKEW
#define SKEW 2      /* the most by which counters differ at the start */
#endif
#ifndef GHOSTS
#define GHOSTS 1    /* acquires that are granted, but nobody counts the vote */
#endif
#ifndef LOSSES
#define LOSSES 0    /* times that a master restarts empty or with an older state, or is emptied */
#endif
#ifndef SURVEYS
#define SURVEYS LOSSES /* readmissions; all of them may be under way at once */
#endif
#ifndef REPAIRS
#define REPAIRS 0   /* locks written back */
#endif
#ifndef REENTRIES
#define REENTRIES 0 /* counted only where REENTRY is 0: otherwise they change nothing */
#endif

#define QUORUM (N / 2 + 1)
#define ALL N       /* the target of a survey that readmits all masters */

/* Masters. */
byte counter[N];    /* the fence counter; 0: missing */
byte lock[N];       /* the attempt whose grant stands; 0: none, or that of an owner that asks no more */
bool very[N];       /* it is the grant that voted, and not the grant of a resent acquire */
bool admitted[N];
byte forgot[N];     /* set of attempts that it voted for before it lost something */

/* Attempts, which become holds. They begin in the order of their numbers: it makes
 * no difference to the masters which client makes which attempt. */
#define IDLE    0
#define ASKING  1
#define PENDING 2   /* the token is known, but no quorum stands at it yet */
#define HELD    3
#define OVER    4
byte phase[ATTEMPTS + 1];
byte token[ATTEMPTS + 1];
byte floor[ATTEMPTS + 1];           /* the highest token that was complete when the attempt began */
byte grant[(ATTEMPTS + 1) * N];     /* the votes; 0: none */
byte voted[ATTEMPTS + 1];           /* set of masters that granted */
byte lapsed[ATTEMPTS + 1];          /* set of masters whose vote is no longer valid */
byte stand[ATTEMPTS + 1];           /* set of masters that stand at the token */

/* Surveys. In each, a client readmits one master, or all. */
#define SPENT 2
byte surveying[SURVEYS + 1];        /* IDLE, ASKING, SPENT */
byte target[SURVEYS + 1];
byte heard[SURVEYS + 1];            /* set of masters whose counter was read; for ALL: those still to be admitted */
byte highest[SURVEYS + 1];

/* History. */
byte minted;                        /* the highest counter ever: the Unix time is never lower */
byte complete;                      /* the highest token that a caller has */
int  handedOut;                     /* the set of tokens that callers have */
byte ghosts, losses, surveys, repairs, reentries;

/* Scratch variables; 0 between two steps. */
byte a, m, x, n, c;

#define HAS(set, i)   (((set) >> (i)) & 1)
#define VOTES(m)      ((admitted[m] || !ADMIT) && (counter[m] > 0 || !ADMIT))
#define VOTE(a, m)    grant[(a) * N + (m)]
#define BELOW(a, m)   (HAS(voted[a], m) && !HAS(stand[a], m))
#define STANDS(a, m)  (STANDING == 0 || (lock[m] == a && (very[m] || STANDING == 1)))
#define BEGINS(a)     (phase[a] == IDLE && (a == 1 || phase[a - 1] != IDLE))

/* Counts the masters in the set. */
inline tally(set) { n = 0; x = 0; do :: x < N -> n = n + HAS(set, x); x++ :: else -> break od; x = 0 }

inline someAttempt() { a = 1; do :: a < ATTEMPTS -> a++ :: break od }
inline someMaster()  { m = 0; do :: m < N - 1 -> m++ :: break od }

inline raise(to) {
  if :: counter[m] < to -> counter[m] = to :: else fi
}

inline incr() {
  counter[m]++;
  if :: minted < counter[m] -> minted = counter[m] :: else fi
}

/* Drops what the attempt knew: it is not needed any more. The locks of a hold still
 * stand, but they keep nobody out: any lock may vanish, so an acquire of another attempt
 * may take it over at any time. And no other attempt asks for this owner. */
inline forget(i) {
  x = 0;
  do
  :: x < N -> VOTE(i, x) = 0; if :: lock[x] == i && phase[i] == OVER -> lock[x] = 0; very[x] = 0 :: else fi; x++
  :: else -> break
  od;
  x = 0; voted[i] = 0; lapsed[i] = 0; stand[i] = 0; floor[i] = 0
}

/* Ends an attempt that has its token, but has no master left where it could confirm:
 * it can do nothing more. */
inline stuck() {
  c = 1;
  do
  :: c <= ATTEMPTS ->
     n = 0; x = 0;
     do :: x < N -> n = n + (BELOW(c, x) && STANDS(c, x)); x++ :: else -> break od;
     if :: phase[c] == PENDING && n == 0 && STANDING == 2 -> phase[c] = OVER; token[c] = 0; forget(c) :: else fi;
     c++
  :: else -> break
  od;
  c = 0; n = 0; x = 0
}

/* Is the attempt complete? */
inline settle() {
  tally(stand[a] & ~lapsed[a]);
  if
  :: LAPSE || !CONFIRM
  :: else -> tally(voted[a] & ~lapsed[a]); c = n; tally(stand[a]); if :: c < n -> n = c :: else fi; c = 0
  fi;
  if :: n >= QUORUM || !CONFIRM -> hold() :: else fi;
  n = 0
}

inline hold() {
  printf("attempt %d is complete with token %d, began when %d was\n", a, token[a], floor[a]);
  assert(token[a] > floor[a]);
  assert(!HAS(handedOut, token[a]));
  handedOut = handedOut | (1 << token[a]);
  if :: complete < token[a] -> complete = token[a] :: else fi;
  phase[a] = HELD; forget(a)
}

inline acquire() {
  d_step {
    /* An attempt begins with its first grant: an earlier beginning would only
     * demand less of its token. If the lock of another attempt stood here, it has
     * just vanished: the exact moment makes no difference. */
    if :: phase[a] == IDLE -> phase[a] = ASKING; floor[a] = complete :: else fi;
    incr();
    lock[m] = a; very[m] = 1; VOTE(a, m) = counter[m];
    printf("attempt %d is granted %d on master %d\n", a, counter[m], m);
    voted[a] = voted[a] | (1 << m);
    tally(voted[a])
  }
  /* A quorum granted: decide with these votes, or wait for one more. (The decision
   * reads only the votes, so it can be made at once.) */
  if
  :: n < N
  :: n >= QUORUM -> d_step {
       n = 0; phase[a] = PENDING; token[a] = 0;
       x = 0;
       do :: x < N -> if :: token[a] < VOTE(a, x) -> token[a] = VOTE(a, x) :: else fi; x++ :: else -> break od;
       x = 0;
       do
       :: x < N -> if :: VOTE(a, x) == token[a] -> stand[a] = stand[a] | (1 << x) :: else fi; VOTE(a, x) = 0; x++
       :: else -> break
       od;
       settle()
     }
  fi;
  d_step { n = 0; stuck() }
}

inline confirm() {
  raise(token[a]);
  stand[a] = stand[a] | (1 << m);
  printf("attempt %d confirms %d on master %d\n", a, token[a], m);
  settle()
}

/* A ghost is a grant whose vote nobody counts. It is a grant of this name, which takes
 * the lock over, or of another name that shares the counter. A resent acquire that is
 * granted again is a ghost too. Only a rule that asks for the owner can tell it from
 * another ghost. */
inline ghost(takes) {
  ghosts++; incr();
  printf("a ghost is granted %d on master %d\n", counter[m], m);
  if :: takes -> lock[m] = 0; very[m] = 0; stuck() :: else fi
}
inline resent() {
  ghosts++; incr();
  lock[m] = a; very[m] = 0;
  printf("a resent acquire of attempt %d is granted %d on master %d\n", a, counter[m], m)
}

/* The master comes back with an older counter, or none. It makes no difference which
 * locks come back with it: their votes have lapsed before it votes again. */
inline lose(sameProcess) {
  losses++;
  counter[m] = c; lock[m] = 0; very[m] = 0; admitted[m] = 0;
  x = 1;
  do :: x <= ATTEMPTS -> forgot[m] = forgot[m] | (HAS(voted[x], m) << x); x++ :: else -> break od;
  /* If the write of a survey of this master would be refused, the survey has no effect. */
  x = 1;
  do
  :: x <= SURVEYS ->
     if
     :: surveying[x] != ASKING || SAMEPROCESS == 0 || (SAMEPROCESS == 1 && sameProcess)
     :: else ->
        if
        :: target[x] == ALL -> heard[x] = heard[x] & ~(1 << m)
        :: target[x] == m -> spend(x)
        :: else
        fi
     fi; x++
  :: else -> break
  od;
  printf("master %d comes back with counter %d\n", m, c)
}

inline spend(i) { surveying[i] = SPENT; target[i] = 0; heard[i] = 0; highest[i] = 0 }

/* The quarantine of a master is over: its votes from before the loss have lapsed. */
inline outOfQuarantine() {
  n = 1;
  do
  :: n <= ATTEMPTS -> if :: HAS(forgot[m], n) && HAS(voted[n], m) && QUARANTINE -> lapsed[n] = lapsed[n] | (1 << m) :: else fi; n++
  :: else -> break
  od;
  forgot[m] = 0
}

inline outside() { n = 0; x = 0; do :: x < N -> n = n + !admitted[x]; x++ :: else -> break od }

init {
  atomic {
    /* At the start only the counters differ: nothing else is left of earlier
     * acquisitions. Masters are alike, so ascending order is enough. */
    m = 0; c = 1;
    do
    :: m < N ->
       do :: c < 1 + SKEW -> c++ :: break od;
       counter[m] = c; admitted[m] = 1; m++
    :: else -> break
    od;
    minted = c; m = 0; c = 0
  }

  do
  /* making tokens */
  :: atomic { someAttempt(); someMaster();
       if
       :: (phase[a] == ASKING || BEGINS(a)) && VOTES(m) && VOTE(a, m) == 0 -> acquire()
       :: phase[a] == PENDING && BELOW(a, m) && VOTES(m) && STANDS(a, m) -> d_step { confirm() }
#if STANDING == 1
       :: ghosts < GHOSTS && phase[a] == PENDING && BELOW(a, m) && VOTES(m) -> d_step { resent() }
#endif
       :: else
       fi; a = 0; m = 0; x = 0; n = 0 }
  :: atomic { ghosts < GHOSTS; someMaster();
       if
       :: VOTES(m) -> d_step { ghost(1) }
       :: VOTES(m) && lock[m] != 0 -> d_step { ghost(0) }
       :: else
       fi; m = 0 }

#if LOSSES > 0
  /* loss and admission */
  :: atomic { losses < LOSSES; someMaster();
       do :: c < counter[m] -> c++ :: break od;
       if
       :: d_step { lose(0) }
#if SAMEPROCESS == 1
       :: c == 0 -> d_step { lose(1) }
#endif
       fi;
       d_step { stuck(); m = 0 } }

  :: atomic { surveys < SURVEYS; someMaster();
       d_step { outside();
       if
       :: !admitted[m] && n < QUORUM ->
          surveys++; surveying[surveys] = ASKING; target[surveys] = m; outOfQuarantine();
          printf("survey %d: for master %d\n", surveys, m)
       :: m == 0 && n >= QUORUM ->
          do :: m < N -> if :: !admitted[m] -> outOfQuarantine() :: else fi; m++ :: else -> break od;
          surveys++; surveying[surveys] = ASKING; target[surveys] = ALL; heard[surveys] = (1 << N) - 1;
          if
          :: FLOOR -> highest[surveys] = minted
          :: else ->
             x = 0;
             do :: x < N -> if :: highest[surveys] < counter[x] -> highest[surveys] = counter[x] :: else fi; x++ :: else -> break od
          fi;
          printf("survey %d: for all, with %d\n", surveys, highest[surveys])
       :: else
       fi; m = 0; x = 0; n = 0 } }

  :: atomic { surveys > 0; c = 1; do :: c < surveys -> c++ :: break od; someMaster();
       d_step {
       tally(heard[c]);
       if
       :: surveying[c] == ASKING && target[c] == ALL && HAS(heard[c], m) ->
          raise(highest[c]); admitted[m] = 1;
          heard[c] = heard[c] & ~(1 << m);
          printf("survey %d admits master %d at %d\n", c, m, counter[m]);
          if :: heard[c] == 0 -> spend(c) :: else fi
       :: surveying[c] == ASKING && target[c] != ALL && target[c] != m && !HAS(heard[c], m) && admitted[m] && n < (RAISE -> QUORUM : 1) ->
          heard[c] = heard[c] | (1 << m);
          if :: highest[c] < counter[m] -> highest[c] = counter[m] :: else fi;
          printf("survey %d hears %d from master %d\n", c, counter[m], m)
       :: surveying[c] == ASKING && target[c] == m && n >= (RAISE -> QUORUM : 1) ->
          raise(highest[c]); admitted[m] = 1;
          printf("survey %d admits master %d at %d\n", c, m, counter[m]);
          spend(c)
       :: else
       fi; m = 0; c = 0; x = 0; n = 0 } }
#endif

#if REPAIRS > 0
  /* repair: for tokens, it is an acquire that raises the counter and does not
   * increment it. When the repaired lock may count depends on time, and is in
   * exclusion.pml. */
  :: atomic { repairs < REPAIRS; someAttempt(); someMaster();
       if
       :: phase[a] == HELD && VOTES(m) && lock[m] != a ->
          d_step { repairs++; raise(token[a]); lock[m] = 0; very[m] = 0; printf("attempt %d repairs master %d\n", a, m); stuck() }
       :: else
       fi; a = 0; m = 0 }
#endif

  /* re-entry: a quorum says that the lock is still this owner's, with the grant
   * that voted. Here all masters are asked at once. That loses no case: a grant that
   * stood when its master was asked also stood when the first master was asked. */
  :: atomic { someAttempt();
       if
       :: phase[a] == HELD && REENTRY ->
          d_step {
            m = 0; n = 0;
            do :: m < N -> n = n + (VOTES(m) && lock[m] == a && very[m]); m++ :: else -> break od;
            assert(n < QUORUM || complete == token[a]);
            m = 0; n = 0
          }
       :: phase[a] == HELD && !REENTRY && reentries < REENTRIES ->
          reentries++;
          m = 0; n = 0;
          do
          :: m < N ->
             if
             :: VOTES(m) && !(lock[m] == a && very[m]) -> incr(); lock[m] = a; very[m] = 1; n++; printf("re-entry of attempt %d is granted %d on master %d\n", a, counter[m], m)
             :: VOTES(m) && lock[m] == a && very[m] -> n++
             :: skip
             fi; m++
          :: else -> break
          od;
          printf("re-entry of attempt %d: %d votes\n", a, n);
          assert(n < QUORUM || complete == token[a]);
          m = 0; n = 0
       :: else
       fi; a = 0 }
  od
}
