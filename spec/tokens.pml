/*
 * Tokens, with repair and re-entry, against an adversary that controls time. Lost data
 * and changes of members are not in this model: they are in the package register,
 * beside this file.
 *
 * Promise: tokens of completed acquisitions are unique, and each is above every
 * token that was complete before its attempt began. A re-entry succeeds only while
 * no higher token is complete. The token of a ForceUnlock is above that of the attempt
 * that it takes the lock from, whenever that attempt completes. No clock is read. Any
 * lock may vanish at any moment (expiry, a jump of a master's clock, a paused holder, a
 * release). Any message may be late, or be executed twice.
 *
 * Each rule of the protocol has a switch, with the same name as in configs.txt.
 * With all switches as they are here, no assertion fails. If one is weakened, an
 * assertion fails, unless another rule covers the weakened one (configs.txt).
 *
 *   CONFIRM      1  an acquisition whose votes have different grant numbers counts
 *                   once a quorum of masters stands at the token: a master below it
 *                   (a laggard) confirms, which raises its counter to the token
 *                0  it counts at once, with the highest grant number as its token
 *   LATE         1  if a vote comes after the token is known, and its grant number is
 *                   higher, this number becomes the token
 *                0  the token stays, and the master stands at it
 *   STANDING     2  a laggard confirms only while the same grant that voted is there
 *                1  it confirms while the caller owns the lock there, by whichever grant
 *                0  it always confirms
 *   REENTRY      1  a re-entry never creates a lock
 *                0  it creates one where there is none
 *   MARK         1  ForceUnlock leaves a gone mark on each master: the master refuses the
 *                   acquire of the attempt that had the lock
 *                0  it leaves no mark
 *   COUNT        1  a release that grants to a waiter increments the counter, as every grant
 *                   does: in this model such a release is an acquire that is executed late
 *                0  it may grant the number that the counter already has
 *   AHEAD        3  an acquire carries a token that its client has seen; a master whose counter
 *                   is below this token grants the token + 1, and stores that as its counter
 *                2  it grants the token itself, and stores that
 *                1  it grants the token + 1, and does not store that
 *                0  it grants the token + 1 and stores that, even if its counter is above the
 *                   token
 *
 * The model is one process. Each branch of its loop is one thing that may happen
 * next. Each branch is atomic, because a script is atomic on its master.
 */

#ifndef CONFIRM
#define CONFIRM 1
#endif
#ifndef LATE
#define LATE 1
#endif
#ifndef STANDING
#define STANDING 2
#endif
#ifndef REENTRY
#define REENTRY 1
#endif
#ifndef MARK
#define MARK 1
#endif
#ifndef COUNT
#define COUNT 1
#endif
#ifndef AHEAD
#define AHEAD 3
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
#define GHOSTS 1    /* acquires that are granted, but no attempt counts the vote */
#endif
#ifndef SEEN
#define SEEN 0      /* what acquires carry: 0 nothing, 1 the highest complete token, 2 any number */
#endif
#ifndef REPAIRS
#define REPAIRS 0   /* locks written back */
#endif
#ifndef FORCE
#define FORCE 0     /* attempt 2 is a ForceUnlock that takes the lock from attempt 1 */
#endif
#ifndef REENTRIES
#define REENTRIES 0 /* re-entries, if REENTRY is 0; otherwise their number has no bound */
#endif

#define QUORUM (N / 2 + 1)

/* Masters. */
byte counter[N];    /* the fence counter */
byte lock[N];       /* the attempt whose grant is there; 0: no grant, or one whose owner sends no more requests */
bool very[N];       /* the grant there is the one that voted, and not that of a resent acquire */

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
byte grant[(ATTEMPTS + 1) * N];     /* by attempt and master: the grant number of the vote; 0: no vote */
byte voted[ATTEMPTS + 1];           /* set of masters that granted */
byte stand[ATTEMPTS + 1];           /* set of masters that stand at the token */
byte marked;                        /* set of masters with the gone mark of attempt 1 */

/* History. */
byte complete;                      /* the highest token that a caller has */
int  handedOut;                     /* the set of tokens that callers have */
byte ghosts, repairs, reentries;

/* Scratch variables; 0 between two steps. */
byte a, m, x, n, c, seen, number;

#define HAS(set, i)   (((set) >> (i)) & 1)
#define VOTE(a, m)    grant[(a) * N + (m)]
#define BELOW(a, m)   (HAS(voted[a], m) && !HAS(stand[a], m))
#define COMES(a, m)   (!HAS(voted[a], m) && !GONE(a, m))
#define STANDS(a, m)  (STANDING == 0 || (lock[m] == a && (very[m] || STANDING == 1)))
#define GONE(a, m)    (MARK && a == 1 && HAS(marked, m))
#define BEGINS(a)     (phase[a] == IDLE && (a == 1 || phase[a - 1] != IDLE))

/* Counts the masters in the set. */
inline tally(set) { n = 0; x = 0; do :: x < N -> n = n + HAS(set, x); x++ :: else -> break od; x = 0 }

inline someAttempt() { a = 1; do :: a < ATTEMPTS -> a++ :: break od }
inline someMaster()  { m = 0; do :: m < N - 1 -> m++ :: break od }

inline raise(to) {
  if :: counter[m] < to -> counter[m] = to :: else fi
}

/* Chooses the token that an acquire carries; 0: none. With SEEN 1 it is the highest complete token. With SEEN 2 it is any
 * number up to the highest counter. With AHEAD, a number that is not above the master's counter would change nothing. */
inline someToken() {
#if SEEN == 1
  if :: complete > counter[m] || !AHEAD -> seen = complete :: seen = 0 fi
#elif SEEN == 2
  d_step { seen = 0; x = 0; do :: x < N -> if :: seen < counter[x] -> seen = counter[x] :: else fi; x++ :: else -> break od; x = 0 }
  do :: seen > (AHEAD -> counter[m] : 0) -> seen-- :: break od;
  if :: seen == counter[m] && AHEAD -> seen = 0 :: else fi
#endif
  skip
}

/* Grants the next number. */
inline incr() {
  counter[m]++; number = counter[m];
  if
  :: number <= seen || !AHEAD && seen > 0 ->
     number = seen + (AHEAD != 2);
     if :: AHEAD != 1 -> counter[m] = number :: else fi
  :: else
  fi
}

/* Drops the attempt's state, which no later step reads. The locks of a hold stay for its
 * re-entries. They keep no other attempt out: any lock may vanish, so an acquire of another
 * attempt may take it over at any time. */
inline forget(i) {
  x = 0;
  do
  :: x < N -> VOTE(i, x) = 0; if :: lock[x] == i && phase[i] == OVER -> lock[x] = 0; very[x] = 0 :: else fi; x++
  :: else -> break
  od;
  x = 0; voted[i] = 0; stand[i] = 0; floor[i] = 0
}

/* Ends an attempt that has its token, but has no master left that could grant or
 * confirm: it can do nothing more. */
inline stuck() {
  c = 1;
  do
  :: c <= ATTEMPTS ->
     n = 0; x = 0;
     do :: x < N -> n = n + (COMES(c, x) || BELOW(c, x) && STANDS(c, x)); x++ :: else -> break od;
     if :: phase[c] == PENDING && n == 0 && STANDING == 2 -> phase[c] = OVER; token[c] = 0; forget(c) :: else fi;
     c++
  :: else -> break
  od;
  c = 0; n = 0; x = 0
}

/* The attempt is complete if a quorum stands at its token. */
inline settle() {
  tally(stand[a]);
  if :: n >= QUORUM || !CONFIRM -> hold() :: else fi;
  n = 0
}

inline hold() {
  printf("attempt %d is complete with token %d, began when %d was\n", a, token[a], floor[a]);
  assert(token[a] > floor[a]);
  assert(!HAS(handedOut, token[a]));
  handedOut = handedOut | (1 << token[a]);
  if :: complete < token[a] -> complete = token[a] :: else fi;
  phase[a] = HELD; forget(a);
  assert(!FORCE || phase[1] != HELD || phase[2] != HELD || token[2] > token[1])
}

inline acquire() {
#if !COUNT
  if :: counter[m]-- :: skip fi;
#endif
  d_step {
    /* An attempt begins with its first grant: an earlier beginning would only
     * demand less of its token. If another attempt had the lock here, that lock has
     * just vanished: the exact moment makes no difference. */
    if :: phase[a] == IDLE -> phase[a] = ASKING; floor[a] = complete :: else fi;
    incr();
    lock[m] = a; very[m] = 1; VOTE(a, m) = number;
    printf("attempt %d is granted %d on master %d\n", a, number, m); number = 0; seen = 0;
    voted[a] = voted[a] | (1 << m);
    if :: FORCE && a == 2 -> marked = marked | (1 << m) :: else fi;
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

/* A grant that comes after the token is known. Masters that have confirmed a lower token
 * are laggards again. */
inline late() {
  incr();
  lock[m] = a; very[m] = 1;
  printf("attempt %d is granted %d on master %d, late\n", a, number, m);
  voted[a] = voted[a] | (1 << m);
  if :: FORCE && a == 2 -> marked = marked | (1 << m) :: else fi;
  if
  :: number > token[a] && LATE -> token[a] = number; stand[a] = 1 << m
  :: number == token[a] || number > token[a] && !LATE -> stand[a] = stand[a] | (1 << m)
  :: else
  fi;
  number = 0; seen = 0;
  settle(); stuck()
}

inline confirm() {
  raise(token[a]);
  stand[a] = stand[a] | (1 << m);
  printf("attempt %d confirms %d on master %d\n", a, token[a], m);
  settle()
}

/* A ghost is a grant whose vote no attempt counts. It is a grant of this name, which takes
 * the lock over, or of another name that shares the counter. A resent acquire that is
 * granted again is a ghost too. Only with STANDING=1, which checks the owner, does it
 * differ from other ghosts. */
inline ghost(takes) {
  ghosts++; incr();
  printf("a ghost is granted %d on master %d\n", number, m); number = 0; seen = 0;
  if :: takes -> lock[m] = 0; very[m] = 0; stuck() :: else fi
}
inline resent() {
  ghosts++; incr();
  lock[m] = a; very[m] = 0;
  printf("a resent acquire of attempt %d is granted %d on master %d\n", a, number, m); number = 0; seen = 0
}

init {
  atomic {
    /* At the start only the counters differ: nothing else is left of earlier
     * acquisitions. Masters are alike, so ascending order is enough. */
    m = 0; c = 1;
    do
    :: m < N ->
       do :: c < 1 + SKEW -> c++ :: break od;
       counter[m] = c; m++
    :: else -> break
    od;
    m = 0; c = 0
  }

  do
  /* making tokens */
  :: atomic { someAttempt(); someMaster(); someToken();
       if
       :: (phase[a] == ASKING || BEGINS(a)) && VOTE(a, m) == 0 && !GONE(a, m) -> acquire()
       :: phase[a] == PENDING && COMES(a, m) -> d_step { late() }
       :: phase[a] == PENDING && BELOW(a, m) && STANDS(a, m) -> d_step { confirm() }
#if STANDING == 1
       :: ghosts < GHOSTS && phase[a] == PENDING && BELOW(a, m) -> d_step { resent() }
#endif
       :: else
       fi; a = 0; m = 0; x = 0; n = 0; seen = 0 }
  :: atomic { ghosts < GHOSTS; someMaster(); someToken();
       if
       :: d_step { ghost(1) }
       :: lock[m] != 0 -> d_step { ghost(0) }
       fi; m = 0; seen = 0 }

#if REPAIRS > 0
  /* repair: for tokens, it is an acquire that raises the counter to the token instead of
   * incrementing it. The moment from which a repaired lock counts depends on time:
   * exclusion.pml checks it. */
  :: atomic { repairs < REPAIRS; someAttempt(); someMaster();
       if
       :: phase[a] == HELD && lock[m] != a ->
          d_step { repairs++; raise(token[a]); lock[m] = 0; very[m] = 0; printf("attempt %d repairs master %d\n", a, m); stuck() }
       :: else
       fi; a = 0; m = 0 }
#endif

  /* re-entry: a quorum replies that the lock is still this owner's, with the grant
   * that voted. Here all masters are asked at once. That loses no case: a grant that was
   * there when its master was asked was also there when the first master was asked. */
  :: atomic { someAttempt();
       if
       :: phase[a] == HELD && REENTRY ->
          d_step {
            m = 0; n = 0;
            do :: m < N -> n = n + (lock[m] == a && very[m]); m++ :: else -> break od;
            assert(n < QUORUM || complete == token[a]);
            m = 0; n = 0
          }
       :: phase[a] == HELD && !REENTRY && reentries < REENTRIES ->
          reentries++;
          m = 0; n = 0;
          do
          :: m < N ->
             if
             :: !(lock[m] == a && very[m]) -> incr(); lock[m] = a; very[m] = 1; n++; printf("re-entry of attempt %d is granted %d on master %d\n", a, number, m); number = 0
             :: lock[m] == a && very[m] -> n++
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
