/*
 * Exclusion: at most one holder, when time behaves.
 *
 * Promise: once another acquisition of the name is complete, no earlier hold is
 * believed valid. So there are no two holds at once, and no hold comes back to life
 * after another hold had the lock. The exception is a hold from which ForceUnlock takes
 * the lock: it may be believed valid beside others for one ttl after ForceUnlock is
 * complete, and never later. If ForceUnlock gives up before it is complete,
 * nothing is promised about that hold.
 *
 * Time is discrete here, and the same everywhere. (The drift allowance covers real
 * clocks.) A lock vanishes only when its ttl ends, or when its owner has finished and
 * releases it. Any message, and any answer, may arrive at any time, or never. Counters
 * and tokens are not in this model: they are in tokens.pml. Lost data and changes of
 * members are not in this model either: they are in the package register, beside this file.
 *
 *   LEASE        1  a hold that was not renewed in time is over: an answer
 *                   after the end of the lease does not count
 *                0  the hold ends only when its timer fires, which may be late; until
 *                   then each answer counts
 *   REPAIRCOUNT  1  a repaired lock counts from the next round on
 *                0  it counts in the round that made it
 *   REENTRY      1  a re-entry never creates a lock
 *                0  it creates one where there is none
 *   MARK         2  ForceUnlock leaves a gone mark on each master: the master refuses the
 *                   acquire and the repairs of the attempt that had the lock
 *                1  the mark refuses the acquire only
 *                0  it leaves no mark
 *   ADDRESSED    1  a request names the master that it is for, and no other executes it
 *                0  any master that gets a request executes it
 *
 * Here LEASE covers REPAIRCOUNT and REENTRY. With LEASE no assertion fails, at any level
 * of the other two. Without LEASE an assertion fails even with both others (configs.txt).
 */

#ifndef LEASE
#define LEASE 1
#endif
#ifndef REPAIRCOUNT
#define REPAIRCOUNT 1
#endif
#ifndef REENTRY
#define REENTRY 1
#endif
#ifndef MARK
#define MARK 2
#endif
#ifndef ADDRESSED
#define ADDRESSED 1
#endif

/* Bounds. Time, renewals and repairs have no bound. */
#ifndef N
#define N 3         /* masters */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2  /* fresh acquisitions; all of them may be under way at once */
#endif
#ifndef TTL
#define TTL 2       /* in ticks */
#endif
#ifndef UNHEARD
#define UNHEARD 1   /* answers may be lost */
#endif
#ifndef REPAIR
#define REPAIR 1    /* holders repair */
#endif
#ifndef FORCE
#define FORCE 0     /* attempt 2 is a ForceUnlock that takes the lock from attempt 1 */
#endif
#ifndef PROXY
#define PROXY 0     /* what attempt 1 sends to master 0 may come to master 1 */
#endif

#ifndef SYMMETRY
#define SYMMETRY !PROXY /* 0: masters keep their numbers, which makes a story readable */
#endif

#define QUORUM (N / 2 + 1)

/* Masters. */
byte lock[N];       /* the attempt that owns the lock; 0: none */
byte left[N];       /* ticks until it expires */

/* Attempts, which become holds. They begin in the order of their numbers. */
#define IDLE   0
#define ASKING 1
#define HELD   2
#define OVER   3
byte phase[ATTEMPTS + 1];
byte until[(ATTEMPTS + 1) * N];     /* by attempt and master: the ticks for which the vote counts */
byte acquireLeft[ATTEMPTS + 1];     /* the ticks for which votes for the acquire count */
byte extendLeft[ATTEMPTS + 1];      /* the same for the last renewal, or re-entry */
byte acquiring[ATTEMPTS + 1];       /* set of masters that have not executed the acquire yet */
byte extending[ATTEMPTS + 1];       /* the same for the last renewal, or re-entry */
byte repairing[ATTEMPTS + 1];       /* the same for the repair */
bool passed[ATTEMPTS + 1];          /* another acquisition became complete after this hold began */

/* What ForceUnlock did to attempt 1. */
byte marked;                        /* set of masters with the gone mark of attempt 1 */
bool forced;                        /* ForceUnlock was complete */
byte forcedLeft;                    /* the ticks for which the hold of attempt 1 may still be believed valid */

/* Scratch variables; 0 between two steps. */
byte a, m, i, x, n;
int  key[N], k;

#define HAS(set, i) (((set) >> (i)) & 1)
#define ASTRAY(a, m) (PROXY && a == 1 && m == 0)
#define FORCES(a) (FORCE && a == 2)
#define GONE(a, m) (a == 1 && HAS(marked, m))
#define UNTIL(a, m) until[(a) * N + (m)]

inline someAttempt() { a = 1; do :: a < ATTEMPTS -> a++ :: break od }
inline someMaster()  { m = 0; do :: m < N - 1 -> m++ :: break od }

inline countValid(who) { n = 0; x = 0; do :: x < N -> n = n + (UNTIL(who, x) > 0); x++ :: else -> break od; x = 0 }

/* The attempt is over. The model drops the attempt's locks on masters and its requests on the
 * way. These could only delay other attempts, and any attempt may be slow in any case. */
inline end(who) {
  phase[who] = OVER;
  x = 0;
  do :: x < N -> UNTIL(who, x) = 0; if :: lock[x] == who -> lock[x] = 0; left[x] = 0 :: else fi; x++ :: else -> break od;
  x = 0;
  acquireLeft[who] = 0; extendLeft[who] = 0; acquiring[who] = 0; extending[who] = 0; repairing[who] = 0;
  passed[who] = 0
}

/* If another acquisition has passed a hold, the hold is not believed valid. A hold from which
 * ForceUnlock took the lock is not believed valid after one ttl. */
inline promise() {
  i = 1;
  do
  :: i <= ATTEMPTS ->
     countValid(i);
     if
     :: i == 1 && marked -> assert(!(phase[i] == HELD && forced && forcedLeft == 0 && n >= QUORUM))
     :: else -> assert(!(phase[i] == HELD && passed[i] && n >= QUORUM))
     fi;
     i++
  :: else -> break
  od;
  i = 0; n = 0
}

/* Master m answered yes to attempt a: that vote counts for this number of ticks. */
inline count(ticks) {
  countValid(a);
  if
  :: phase[a] == HELD && LEASE && n < QUORUM
  :: else ->
     if :: UNTIL(a, m) < ticks -> UNTIL(a, m) = ticks :: else fi;
     countValid(a);
     if
     :: phase[a] == ASKING && n >= QUORUM ->
        printf("attempt %d is complete\n", a);
        phase[a] = HELD;
        i = 1;
        do :: i <= ATTEMPTS -> if :: phase[i] == HELD && i != a && !(a == 1 && marked) -> passed[i] = 1 :: else fi; i++ :: else -> break od;
        if :: FORCES(a) -> forced = 1; forcedLeft = TTL; end(a) :: else fi
     :: else
     fi;
     promise()
  fi;
  n = 0
}

/* What ForceUnlock does on a master, right before its acquire. */
inline putOut() {
  marked = marked | (1 << m);
  if :: lock[m] == 1 -> lock[m] = 0; left[m] = 0 :: else fi
}

inline take() {
  lock[m] = a;
  left[m] = TTL
}

inline tick() {
  m = 0;
  do
  :: m < N ->
     if :: left[m] > 0 -> left[m]--; if :: left[m] == 0 -> lock[m] = 0 :: else fi :: else fi;
     a = 1;
     do :: a <= ATTEMPTS -> if :: UNTIL(a, m) > 0 -> UNTIL(a, m)-- :: else fi; a++ :: else -> break od;
     m++
  :: else -> break
  od;
  m = 0; a = 1;
  do
  :: a <= ATTEMPTS ->
     if :: acquireLeft[a] > 0 -> acquireLeft[a]-- :: else fi;
     if :: extendLeft[a] > 0 -> extendLeft[a]-- :: else fi;
     countValid(a);
     if
     :: phase[a] == ASKING && acquireLeft[a] == 0 -> printf("attempt %d was too slow\n", a); end(a)
     :: phase[a] == HELD && n < QUORUM && LEASE -> printf("attempt %d: its lease ends\n", a); end(a)
     :: else
     fi;
     a++
  :: else -> break
  od;
  if :: forcedLeft > 0 -> forcedLeft-- :: else fi;
  promise();
  a = 0; n = 0; printf("a tick\n")
}

/* Masters are alike. After each step they are sorted by what they have, so that two
 * states that differ only in the numbers of the masters become one state. Any order
 * will do. If you give masters another variable, swap its values too: otherwise the
 * sorting changes the state. */
inline swapBits(set) { if :: HAS(set, x) != HAS(set, x + 1) -> set = set ^ (3 << x) :: else fi }
inline swap(one, other) { n = one; one = other; other = n }

inline order() {
  x = 0;
  do
  :: x < N && SYMMETRY ->
     k = lock[x] + 4 * left[x] + 16 * HAS(marked, x);
     i = 1;
     do
     :: i <= ATTEMPTS -> k = k * 32 + UNTIL(i, x) + 4 * HAS(acquiring[i], x) + 8 * HAS(extending[i], x) + 16 * HAS(repairing[i], x); i++
     :: else -> break
     od;
     key[x] = k; x++
  :: else -> break
  od;
  m = 1;
  do
  :: m < N && SYMMETRY ->
     x = m;
     do
     :: x > 0 && key[x - 1] > key[x] ->
        x--;
        k = key[x]; key[x] = key[x + 1]; key[x + 1] = k;
        swap(lock[x], lock[x + 1]); swap(left[x], left[x + 1]); swapBits(marked);
        i = 1;
        do
        :: i <= ATTEMPTS ->
           swap(UNTIL(i, x), UNTIL(i, x + 1));
           swapBits(acquiring[i]); swapBits(extending[i]); swapBits(repairing[i]);
           i++
        :: else -> break
        od
     :: else -> break
     od;
     m++
  :: else -> break
  od;
  x = 0;
  do :: x < N -> key[x] = 0; x++ :: else -> break od;
  a = 0; m = 0; i = 0; x = 0; n = 0; k = 0
}

init {
  do
  :: d_step { tick(); order() }

  :: atomic { someAttempt();
       if
       :: phase[a] == IDLE && (a == 1 || phase[a - 1] != IDLE) -> d_step {
            phase[a] = ASKING; acquireLeft[a] = TTL; acquiring[a] = (1 << N) - 1;
            printf("attempt %d asks all\n", a) }
       /* the attempt gives up, or the hold is unlocked, or its timer fires */
       :: phase[a] == ASKING || phase[a] == HELD -> d_step { printf("attempt %d is over\n", a); end(a) }
       :: phase[a] == HELD -> d_step {
            countValid(a);
            if
            :: n >= QUORUM ->
               extendLeft[a] = TTL; extending[a] = (1 << N) - 1;
               printf("attempt %d renews\n", a)
            :: else
            fi }
       :: else
       fi; d_step { order() } }

  /* a request is executed, and answered */
  :: atomic { someAttempt(); someMaster();
       if
       :: HAS(acquiring[a], m) && (lock[m] == 0 && !(MARK && GONE(a, m)) || FORCES(a)) ->
          d_step {
            acquiring[a] = acquiring[a] & ~(1 << m);
            if :: FORCES(a) -> putOut() :: else fi;
            if :: lock[m] == 0 -> take(); printf("attempt %d acquires on master %d\n", a, m) :: else fi
          }
          if
          :: d_step { if :: lock[m] == a -> count(acquireLeft[a]) :: else fi }
          :: UNHEARD -> printf("(unheard)\n")
          fi
       :: ASTRAY(a, m) && HAS(acquiring[a], m) && !ADDRESSED && (lock[1] == 0 && !(MARK && GONE(a, 1)) || lock[1] == a) ->
          d_step {
            acquiring[a] = acquiring[a] & ~(1 << m);
            m = 1; take(); m = 0;
            printf("attempt %d asks master 0, and acquires on master 1\n", a);
            count(acquireLeft[a])
          }
       :: ASTRAY(a, m) && HAS(extending[a], m) && !ADDRESSED && lock[1] == a ->
          d_step {
            extending[a] = extending[a] & ~(1 << m);
            m = 1; take(); m = 0;
            printf("attempt %d asks master 0, and extends on master 1\n", a);
            count(extendLeft[a])
          }
       :: ASTRAY(a, m) && ADDRESSED && (HAS(acquiring[a], m) || HAS(extending[a], m)) ->
          d_step {
            acquiring[a] = acquiring[a] & ~(1 << m); extending[a] = extending[a] & ~(1 << m);
            printf("attempt %d asks master 0, and master 1 refuses\n", a)
          }
       :: HAS(extending[a], m) && (lock[m] == a || (lock[m] == 0 && !REENTRY)) ->
          d_step { extending[a] = extending[a] & ~(1 << m); take(); printf("attempt %d extends on master %d\n", a, m) }
          if
          :: d_step { count(extendLeft[a]) }
          :: UNHEARD -> printf("(unheard)\n")
          fi
       :: HAS(extending[a], m) && lock[m] != a ->
          d_step {
            extending[a] = extending[a] & ~(1 << m); UNTIL(a, m) = 0;
            printf("attempt %d does not have master %d\n", a, m);
            if :: REPAIR && lock[m] == 0 -> repairing[a] = repairing[a] | (1 << m) :: else fi
          }
       :: HAS(repairing[a], m) && (lock[m] == 0 && !(MARK == 2 && GONE(a, m)) || lock[m] == a) ->
          d_step { repairing[a] = repairing[a] & ~(1 << m); take(); printf("attempt %d repairs master %d\n", a, m) }
          if
          :: d_step { if :: !REPAIRCOUNT -> count(extendLeft[a]) :: else fi }
          :: UNHEARD -> printf("(unheard)\n")
          fi
       :: else
       fi; d_step { order() } }
  od
}
