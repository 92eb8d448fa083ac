/*
 * Readers and writers: who may hold the lock together, when time behaves.
 *
 * Promises: once a writer's acquisition is complete, no earlier hold is believed valid.
 * Once a reader's acquisition is complete, no earlier writer's hold is believed valid. And a
 * holder that died keeps nobody out for longer than its ttl, whatever other readers do.
 *
 * Time is as in exclusion.pml: discrete, and the same everywhere. Each reader on a
 * master ends by its own time. Any message, and any answer, may arrive at any time, or
 * never. A writer may become a reader: each master makes the writer a reader when the request
 * arrives, and the holder counts as a reader from the moment when it sends the request.
 *
 *   READER     1  a master grants a reader only where it has no writer
 *              0  it always grants a reader
 *   WRITER     1  a master grants a writer only where it has no writer and no reader
 *              0  it grants a writer where it has no writer
 *   OWN        2  each reader has its own time on a master
 *              1  a reader that joins or renews renews the other readers as well
 *              0  the other readers end when that reader ends
 *   LEAVE      1  a reader that leaves removes only itself
 *              0  it frees the lock of all readers
 *   DOWNGRADE  1  a master turns a writer into a reader in one step
 *              0  it frees the lock, and adds the reader in a second step
 *   LEASE      1  an answer that comes after the end of the lease does not count
 *              0  it counts as long as the holder has not noticed the end of its lease
 */

#ifndef READER
#define READER 1
#endif
#ifndef WRITER
#define WRITER 1
#endif
#ifndef OWN
#define OWN 2
#endif
#ifndef LEAVE
#define LEAVE 1
#endif
#ifndef DOWNGRADE
#define DOWNGRADE 1
#endif
#ifndef LEASE
#define LEASE 1
#endif

/* Bounds. Time and renewals have no bound. */
#ifndef N
#define N 3         /* masters */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2  /* fresh acquisitions; all of them may be under way at once */
#endif
#ifndef TTL
#define TTL 2       /* in ticks */
#endif
#ifndef SHORT
#define SHORT 0     /* the last attempt has a ttl of one tick */
#endif
#ifndef UNHEARD
#define UNHEARD 1   /* answers may be lost */
#endif
#ifndef RENEW
#define RENEW 1     /* holders renew */
#endif
#ifndef TURN
#define TURN 1      /* writers become readers */
#endif
#ifndef DIE
#define DIE 0       /* holders die */
#endif

#ifndef SYMMETRY
#define SYMMETRY 1  /* 0: masters keep their numbers, which makes a story readable */
#endif

#define QUORUM (N / 2 + 1)

/* Masters. */
byte lock[N];                       /* the attempt that writes; 0: none */
byte left[N];                       /* ticks until that attempt's lock expires */
byte share[(ATTEMPTS + 1) * N];     /* ticks until an attempt that reads expires; 0: it does not read there */

/* Attempts, which become holds. They begin in the order of their numbers. */
#define IDLE   0
#define ASKING 1
#define HELD   2
#define OVER   3
#define DEAD   4
byte phase[ATTEMPTS + 1];
bool reads[ATTEMPTS + 1];
bool wrote[ATTEMPTS + 1];           /* its acquisition was for writing */
byte until[(ATTEMPTS + 1) * N];     /* by attempt and master: the ticks for which the vote counts */
byte acquireLeft[ATTEMPTS + 1];     /* the ticks for which votes for the acquire count */
byte extendLeft[ATTEMPTS + 1];      /* the same for the last renewal, or downgrade */
byte acquiring[ATTEMPTS + 1];       /* set of masters that have not executed the acquire yet */
byte extending[ATTEMPTS + 1];       /* the same for the last renewal, or downgrade */
byte joining[ATTEMPTS + 1];         /* set of masters that have done the first of two steps of a downgrade */
bool passed[ATTEMPTS + 1];          /* after this hold began, an acquisition that may not hold beside it became complete */
byte dead[ATTEMPTS + 1];            /* the ticks since it died */

/* Scratch variables; 0 between two steps. */
byte a, m, i, x, n;
int  key[N], k;

#define HAS(set, i) (((set) >> (i)) & 1)
#define UNTIL(a, m) until[(a) * N + (m)]
#define SHARE(a, m) share[(a) * N + (m)]
#define TTLOF(a) ((SHORT && (a) == ATTEMPTS) -> 1 : TTL)

inline someAttempt() { a = 1; do :: a < ATTEMPTS -> a++ :: break od }
inline someMaster()  { m = 0; do :: m < N - 1 -> m++ :: break od }

inline countValid(who) { n = 0; x = 0; do :: x < N -> n = n + (UNTIL(who, x) > 0); x++ :: else -> break od; x = 0 }

/* n becomes the number of readers on master m. */
inline countReaders() { n = 0; x = 1; do :: x <= ATTEMPTS -> n = n + (SHARE(x, m) > 0); x++ :: else -> break od; x = 0 }

/* The attempt is over. Its locks on masters are freed (freed), or vanish. The model drops its
 * requests on the way, which could only keep others out for a while. */
inline end(who, freed) {
  phase[who] = OVER;
  x = 0;
  do
  :: x < N ->
     UNTIL(who, x) = 0;
     if :: lock[x] == who -> lock[x] = 0; left[x] = 0 :: else fi;
     if
     :: freed && !LEAVE && SHARE(who, x) -> i = 1; do :: i <= ATTEMPTS -> SHARE(i, x) = 0; i++ :: else -> break od; i = 0
     :: else -> SHARE(who, x) = 0
     fi;
     x++
  :: else -> break
  od;
  x = 0;
  acquireLeft[who] = 0; extendLeft[who] = 0; acquiring[who] = 0; extending[who] = 0; joining[who] = 0;
  passed[who] = 0; reads[who] = 0; wrote[who] = 0
}

/* If another acquisition has passed a hold, the hold is not believed valid. */
inline promise() {
  i = 1;
  do
  :: i <= ATTEMPTS -> countValid(i); assert(!(phase[i] == HELD && passed[i] && n >= QUORUM)); i++
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
        printf("attempt %d is complete, and reads: %d\n", a, reads[a]);
        phase[a] = HELD;
        i = 1;
        do
        :: i <= ATTEMPTS -> if :: phase[i] == HELD && i != a && !(reads[i] && reads[a]) -> passed[i] = 1 :: else fi; i++
        :: else -> break
        od
     :: else
     fi;
     promise()
  fi;
  n = 0
}

inline takeToWrite() { lock[m] = a; left[m] = TTLOF(a) }

inline takeToRead() {
  i = 1;
  do
  :: i <= ATTEMPTS ->
     if
     :: SHARE(i, m) && OWN == 1 && SHARE(i, m) < TTLOF(a) -> SHARE(i, m) = TTLOF(a)
     :: SHARE(i, m) && OWN == 0 -> SHARE(i, m) = TTLOF(a)
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0;
  if :: SHARE(a, m) < TTLOF(a) -> SHARE(a, m) = TTLOF(a) :: else fi
}

inline tick() {
  m = 0;
  do
  :: m < N ->
     if :: left[m] > 0 -> left[m]--; if :: left[m] == 0 -> lock[m] = 0 :: else fi :: else fi;
     a = 1;
     do
     :: a <= ATTEMPTS ->
        if :: UNTIL(a, m) > 0 -> UNTIL(a, m)-- :: else fi;
        if :: SHARE(a, m) > 0 -> SHARE(a, m)-- :: else fi;
        a++
     :: else -> break
     od;
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
     :: phase[a] == ASKING && acquireLeft[a] == 0 -> printf("attempt %d was too slow\n", a); end(a, 0)
     :: phase[a] == HELD && n < QUORUM && LEASE -> printf("attempt %d: its lease ends\n", a); end(a, 0)
     :: phase[a] == DEAD ->
        dead[a] = dead[a] + (dead[a] < TTL);
        x = 0;
        do :: x < N -> assert(dead[a] < TTL || (lock[x] != a && SHARE(a, x) == 0)); x++ :: else -> break od;
        x = 0
     :: else
     fi;
     a++
  :: else -> break
  od;
  a = 0; n = 0; printf("a tick\n")
}

/* Sorts the masters, as in exclusion.pml. */
inline swapBits(set) { if :: HAS(set, x) != HAS(set, x + 1) -> set = set ^ (3 << x) :: else fi }
inline swap(one, other) { n = one; one = other; other = n }

inline order() {
  x = 0;
  do
  :: x < N && SYMMETRY ->
     k = lock[x] + 4 * left[x];
     i = 1;
     do
     :: i <= ATTEMPTS ->
        k = k * 128 + UNTIL(i, x) + 4 * HAS(acquiring[i], x) + 8 * HAS(extending[i], x) + 16 * HAS(joining[i], x) + 32 * SHARE(i, x);
        i++
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
        swap(lock[x], lock[x + 1]); swap(left[x], left[x + 1]);
        i = 1;
        do
        :: i <= ATTEMPTS ->
           swap(UNTIL(i, x), UNTIL(i, x + 1)); swap(SHARE(i, x), SHARE(i, x + 1));
           swapBits(acquiring[i]); swapBits(extending[i]); swapBits(joining[i]);
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

/* Master m has executed a request: its answer comes, or does not. */
inline answered(ticks) {
  if
  :: d_step { count(ticks) }
  :: UNHEARD -> printf("(unheard)\n")
  fi
}

init {
  do
  :: d_step { tick(); order() }

  :: atomic { someAttempt();
       if
       :: phase[a] == IDLE && (a == 1 || phase[a - 1] != IDLE) ->
          if
          :: d_step { wrote[a] = 1; printf("attempt %d asks all to write\n", a) }
          :: d_step { reads[a] = 1; printf("attempt %d asks all to read\n", a) }
          fi;
          d_step { phase[a] = ASKING; acquireLeft[a] = TTLOF(a); acquiring[a] = (1 << N) - 1 }
       /* the attempt gives up, or the hold is unlocked, or its timer fires */
       :: phase[a] == ASKING || phase[a] == HELD -> d_step { printf("attempt %d is over\n", a); end(a, 1) }
       :: phase[a] == HELD && RENEW -> d_step {
            countValid(a);
            if
            :: n >= QUORUM -> extendLeft[a] = TTLOF(a); extending[a] = (1 << N) - 1; printf("attempt %d renews\n", a)
            :: else
            fi }
       :: phase[a] == HELD && TURN && !reads[a] -> d_step {
            countValid(a);
            if
            :: n >= QUORUM -> reads[a] = 1; extendLeft[a] = TTLOF(a); extending[a] = (1 << N) - 1; printf("attempt %d downgrades\n", a)
            :: else
            fi }
       :: phase[a] == HELD && DIE -> d_step {
            printf("attempt %d dies\n", a);
            phase[a] = DEAD; acquiring[a] = 0; extending[a] = 0; joining[a] = 0; acquireLeft[a] = 0; extendLeft[a] = 0;
            passed[a] = 0; x = 0; do :: x < N -> UNTIL(a, x) = 0; x++ :: else -> break od; x = 0 }
       :: else
       fi; d_step { order() } }

  /* a request is executed, and answered */
  :: atomic { someAttempt(); someMaster(); skip; d_step { countReaders() }
       if
       :: HAS(acquiring[a], m) && wrote[a] && lock[m] == 0 && (n == 0 || !WRITER) ->
          d_step { n = 0; acquiring[a] = acquiring[a] & ~(1 << m); takeToWrite(); printf("attempt %d writes on master %d\n", a, m) }
          answered(acquireLeft[a])
       :: HAS(acquiring[a], m) && !wrote[a] && (lock[m] == 0 || !READER) ->
          d_step { n = 0; acquiring[a] = acquiring[a] & ~(1 << m); takeToRead(); printf("attempt %d reads on master %d\n", a, m) }
          answered(acquireLeft[a])
       /* an extend that was sent before the downgrade may arrive after it: then the attempt still writes on that master */
       :: HAS(extending[a], m) && lock[m] == a ->
          d_step { n = 0; extending[a] = extending[a] & ~(1 << m); takeToWrite(); printf("attempt %d extends on master %d\n", a, m) }
          answered(extendLeft[a])
       :: HAS(extending[a], m) && lock[m] == a && reads[a] ->
          d_step {
            n = 0; extending[a] = extending[a] & ~(1 << m); lock[m] = 0; left[m] = 0;
            if :: DOWNGRADE -> takeToRead() :: else -> joining[a] = joining[a] | (1 << m) fi;
            printf("master %d turns attempt %d into a reader\n", m, a)
          }
          answered(extendLeft[a])
       :: HAS(extending[a], m) && SHARE(a, m) ->
          d_step { n = 0; extending[a] = extending[a] & ~(1 << m); takeToRead(); printf("attempt %d extends on master %d\n", a, m) }
          answered(extendLeft[a])
       :: HAS(extending[a], m) && lock[m] != a && !SHARE(a, m) ->
          d_step { n = 0; extending[a] = extending[a] & ~(1 << m); UNTIL(a, m) = 0; printf("attempt %d does not have master %d\n", a, m) }
       :: HAS(joining[a], m) && lock[m] == 0 ->
          d_step { n = 0; joining[a] = joining[a] & ~(1 << m); takeToRead(); printf("attempt %d is a reader on master %d\n", a, m) }
       :: else
       fi; d_step { n = 0; order() } }
  od
}
