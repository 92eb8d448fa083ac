/*
 * Offers: a release grants the lock to a waiter, instead of calling the waiter.
 *
 * When a master refuses a waiter, the waiter leaves an offer on this master: its owner, and
 * the version of the members. A later release on this master grants the lock to such an
 * owner, for a short lease, and publishes a notice. A notice may be lost, doubled or late. It
 * may overtake the reply to the request that left the offer. It may come when the owner has
 * given up and the same client waits with another owner.
 *
 * Promises: once another acquisition of the name is complete, no earlier hold is believed
 * valid. And once a master has executed the request that an owner sends when it gives up or
 * unlocks, this master never has the lock of this owner again.
 *
 * Time is as in exclusion.pml. Safety does not depend on the order of the queue: here an
 * offer may be made at any time, and any offer may be taken whenever the lock is free. Nor
 * does safety depend on how long an offer stays: here it stays for ever. tokens.pml models the
 * tokens of such grants (COUNT): for tokens, the grant is an acquire that is executed late.
 *
 *   SENT      1  the vote of a notice counts from the moment before the request that left
 *                  the offer was sent
 *             0  it counts from the moment when the notice comes
 *   LENGTH    1  the vote counts for no longer than a release grants the lock
 *             0  the vote counts for the ttl that the waiter asked for
 *   OWNER     1  a notice is a vote for the owner that it names
 *             0  a notice is a vote for the owner with which its client waits now
 *   WITHDRAW  1  an owner that gives up, or unlocks, takes its offers back
 *             0  offers stay
 *   MARK      1  such an owner leaves a gone mark on each master whose answer it does not
 *                  know: this master then refuses a late acquire, which would make an offer
 *             0  it leaves no mark
 *   VERSION   1  a master grants only at the version at which the offer was made
 *             0  a master grants whatever its version is
 *   NAMED     1  a notice is a vote of the master that it names
 *             0  it is a vote of the master by whose subscription it came
 *   UNDONE    1  while an undo of an early grant is not answered, its master has no vote for the attempt
 *             0  the master's next answer counts
 *
 * In the library, a release also ignores the offers of an owner with a gone mark: an operator
 * who takes a lock by force does not know these offers. The model does not need this.
 *
 * SENT and the quarantine together cover VERSION here: when the member that takes the place
 * of another begins to vote, no offer of the previous version counts any more. For tokens
 * VERSION is needed: see the package register, beside this file.
 */

#ifndef SENT
#define SENT 1
#endif
#ifndef LENGTH
#define LENGTH 1
#endif
#ifndef OWNER
#define OWNER 1
#endif
#ifndef WITHDRAW
#define WITHDRAW 1
#endif
#ifndef MARK
#define MARK 1
#endif
#ifndef VERSION
#define VERSION 1
#endif
#ifndef NAMED
#define NAMED 1
#endif
#ifndef UNDONE
#define UNDONE 1
#endif

/* Bounds. */
#ifndef ATTEMPTS
#define ATTEMPTS 2  /* fresh acquisitions; all of them may be under way at once */
#endif
#ifndef TTL
#define TTL 3       /* in ticks */
#endif
#ifndef SHORT
#define SHORT 2     /* for how many ticks a release grants */
#endif
#ifndef RENEW
#define RENEW 1     /* holders renew */
#endif
#ifndef UNHEARD
#define UNHEARD 1   /* answers may be lost */
#endif
#ifndef LATE
#define LATE 1      /* what is sent at the end may be executed late, or never */
#endif
#ifndef CHANGE
#define CHANGE 0    /* master 3 takes the place of master 2, at version 2; attempt 1 is at version 1, attempt 2 at version 2 */
#endif
#ifndef OFFERS
#define OFFERS 1    /* attempts make offers */
#endif
#ifndef UNDO
#define UNDO 0      /* an attempt without a quorum may undo a grant, and go on; copies of the undo may be executed late */
#endif
#ifndef ASTRAY
#define ASTRAY 0    /* the subscription of attempt 1 to master 0 may lead to master 1 */
#endif

#if CHANGE
#define N 4
#define VOTES(a, m)  (at[m] == a)
#define MEMBER(a, m) ((m) < 2 || (m) == a + 1)
#define SYMMETRY 0
#else
#define N 3
#define VOTES(a, m)  true
#define MEMBER(a, m) true
#define SYMMETRY !ASTRAY
#endif
#define QUORUM 2
#if LENGTH
#define GIVEN SHORT
#else
#define GIVEN TTL
#endif

/* Masters. */
byte lock[N];       /* the attempt that owns the lock; 0: none */
byte left[N];       /* ticks until it expires */
#if CHANGE
byte at[N];         /* the version at which it votes; 0: it does not */
byte quarantine;    /* ticks until master 3 votes */
#endif

/* Attempts, which become holds. They begin in the order of their numbers. */
#define IDLE   0
#define ASKING 1
#define HELD   2
#define OVER   3
byte phase[ATTEMPTS + 1];
byte until[(ATTEMPTS + 1) * N];     /* by attempt and master: the ticks for which the vote counts */
byte acquireLeft[ATTEMPTS + 1];     /* the ticks for which an answer to the acquire counts */
byte givenLeft[ATTEMPTS + 1];       /* the ticks for which a notice counts */
byte extendLeft[ATTEMPTS + 1];      /* the ticks for which an answer to the last renewal counts */
bool passed[ATTEMPTS + 1];          /* another acquisition became complete after this one */

/* For each attempt, sets of masters: those ... */
byte acquiring[ATTEMPTS + 1];       /* that have not executed the acquire yet */
byte extending[ATTEMPTS + 1];       /* that have not executed the last renewal yet */
byte freeing[ATTEMPTS + 1];         /* that have not executed yet what the attempt sent at its end */
byte offer[ATTEMPTS + 1];           /* with an offer of the attempt */
byte notice[ATTEMPTS + 1];          /* whose release granted to the attempt: the notice may come at any time, and more than once */
byte known[ATTEMPTS + 1];           /* whose answer the attempt knows, or from which it got a notice */
byte undoing[ATTEMPTS + 1];         /* where the attempt undoes a grant, and does not know that no copy of the undo will come */
byte marked[ATTEMPTS + 1];          /* with a gone mark of the attempt */
byte freed[ATTEMPTS + 1];           /* that have executed what the attempt sent at its end */

/* Scratch variables; 0 between two steps. */
byte a, b, m, i, x, n;
int  key[N], k;

#define BIT(m)      (1 << (m))
#define HAS(set, i) (((set) >> (i)) & 1)
#define UNTIL(a, m) until[(a) * N + (m)]
#define GIVES(a, m) (HAS(offer[a], m) && lock[m] == 0 && (!VERSION || VOTES(a, m)))

inline someAttempt() { a = 1; do :: a < ATTEMPTS -> a++ :: break od }
inline someOther()   { b = 1; do :: b < ATTEMPTS -> b++ :: break od }
inline someMaster()  { m = 0; do :: m < N - 1 -> m++ :: break od }

inline countValid(who) { n = 0; x = 0; do :: x < N -> n = n + (UNTIL(who, x) > 0); x++ :: else -> break od; x = 0 }

/* The attempt is over, and sends requests that free its locks and offers on masters. With LATE, these
 * requests may be late or get lost. Without LATE, they are executed at once, and the attempt's earlier
 * requests that are still on the way are dropped. */
inline end(who) {
  phase[who] = OVER;
  x = 0;
  do
  :: x < N ->
     UNTIL(who, x) = 0;
     if :: !LATE && lock[x] == who -> lock[x] = 0; left[x] = 0 :: else fi;
     x++
  :: else -> break
  od;
  x = 0;
  if :: LATE -> freeing[who] = BIT(N) - 1 :: else -> acquiring[who] = 0; offer[who] = 0; known[who] = 0 fi;
  acquireLeft[who] = 0; givenLeft[who] = 0; extendLeft[who] = 0; extending[who] = 0; undoing[who] = 0; passed[who] = 0;
  if :: OWNER -> notice[who] = 0 :: else fi
}

/* If another acquisition has passed a hold, the hold is not believed valid. */
inline promise() {
  i = 1;
  do
  :: i <= ATTEMPTS ->
     countValid(i);
     assert(!(phase[i] == HELD && passed[i] && n >= QUORUM));
     i++
  :: else -> break
  od;
  i = 0; n = 0
}

/* Master m answered yes to attempt a: that vote counts for this number of ticks. */
inline count(ticks) {
  countValid(a);
  if
  :: phase[a] != ASKING && phase[a] != HELD || phase[a] == HELD && n < QUORUM || !MEMBER(a, m) || UNDONE && HAS(undoing[a], m)
  :: else ->
     if :: UNTIL(a, m) < ticks -> UNTIL(a, m) = ticks :: else fi;
     countValid(a);
     if
     :: phase[a] == ASKING && n >= QUORUM ->
        printf("attempt %d is complete\n", a);
        phase[a] = HELD;
        i = 1;
        do :: i <= ATTEMPTS -> if :: phase[i] == HELD && i != a -> passed[i] = 1 :: else fi; i++ :: else -> break od
     :: else
     fi;
     promise()
  fi;
  n = 0
}

inline take(ticks) {
  assert(!HAS(freed[a], m)); /* otherwise nobody would free this lock: its owner does not know about it */
  lock[m] = a;
  left[m] = ticks
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
     if :: givenLeft[a] > 0 -> givenLeft[a]-- :: else fi;
     if :: extendLeft[a] > 0 -> extendLeft[a]-- :: else fi;
     countValid(a);
     if :: phase[a] == HELD && n < QUORUM -> printf("attempt %d: its lease ends\n", a); end(a) :: else fi;
     a++
  :: else -> break
  od;
#if CHANGE
  if :: quarantine > 1 -> quarantine-- :: quarantine == 1 -> quarantine = 0; at[3] = 2 :: else fi;
#endif
  promise();
  a = 0; n = 0; printf("a tick\n")
}

/* Sorts the masters as in exclusion.pml, unless a setting makes them differ (SYMMETRY). */
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
        k = k * 1024 + UNTIL(i, x) + 4 * HAS(acquiring[i], x) + 8 * HAS(extending[i], x) + 16 * HAS(freeing[i], x) + 32 * HAS(offer[i], x);
        k = k + 64 * HAS(notice[i], x) + 128 * HAS(known[i], x) + 256 * HAS(marked[i], x);
        k = k * 4 + HAS(freed[i], x) + 2 * HAS(undoing[i], x); i++
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
           swap(UNTIL(i, x), UNTIL(i, x + 1));
           swapBits(acquiring[i]); swapBits(extending[i]); swapBits(freeing[i]); swapBits(offer[i]); swapBits(notice[i]);
           swapBits(known[i]); swapBits(marked[i]); swapBits(freed[i]); swapBits(undoing[i]);
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
  a = 0; b = 0; m = 0; i = 0; x = 0; n = 0; k = 0
}

init {
#if CHANGE
  d_step { at[0] = 1; at[1] = 1; at[2] = 1 }
#endif
  do
  :: d_step { tick(); order() }

  :: atomic { someAttempt();
       if
       :: phase[a] == IDLE && (a == 1 || phase[a - 1] != IDLE) -> d_step {
            phase[a] = ASKING; acquireLeft[a] = TTL; givenLeft[a] = (SENT -> GIVEN : 0); acquiring[a] = BIT(N) - 1;
            printf("attempt %d asks all\n", a) }
       /* the attempt gives up, or the hold is unlocked, or its timer fires */
       :: phase[a] == ASKING || phase[a] == HELD -> d_step { printf("attempt %d is over\n", a); end(a) }
       :: RENEW && phase[a] == HELD -> d_step {
            countValid(a);
            if :: n >= QUORUM -> extendLeft[a] = TTL; extending[a] = BIT(N) - 1; printf("attempt %d renews\n", a) :: else fi }
       :: else
       fi; d_step { order() } }

  /* an attempt that has no quorum undoes a grant */
  :: atomic { someAttempt(); someMaster();
       if
       :: UNDO && phase[a] == ASKING && UNTIL(a, m) > 0 && !HAS(notice[a], m) ->
          d_step { UNTIL(a, m) = 0; undoing[a] = undoing[a] | BIT(m); printf("attempt %d undoes its grant on master %d\n", a, m) }
       :: else
       fi; d_step { order() } }

  /* a request is executed, and answered */
  :: atomic { someAttempt(); someMaster();
       if
       :: HAS(acquiring[a], m) && VOTES(a, m) && !HAS(marked[a], m) && lock[m] == 0 ->
          d_step { acquiring[a] = acquiring[a] & ~BIT(m); take(TTL); printf("attempt %d acquires on master %d\n", a, m) }
          if
          :: d_step { if :: phase[a] != OVER -> known[a] = known[a] | BIT(m) :: else fi; count(acquireLeft[a]) }
          :: UNHEARD -> printf("(unheard)\n")
          fi
       :: HAS(acquiring[a], m) && VOTES(a, m) && !HAS(marked[a], m) -> /* another owner has the lock: an attempt of the model, or of another client */
          d_step {
            acquiring[a] = acquiring[a] & ~BIT(m);
            if :: OFFERS -> offer[a] = offer[a] | BIT(m) :: else fi;
            printf("master %d refuses attempt %d\n", m, a)
          }
          if
          :: d_step { if :: phase[a] != OVER -> known[a] = known[a] | BIT(m) :: else fi }
          :: UNHEARD -> printf("(unheard)\n")
          fi
       :: HAS(extending[a], m) && VOTES(a, m) && lock[m] == a ->
          d_step { extending[a] = extending[a] & ~BIT(m); take(TTL); printf("attempt %d extends on master %d\n", a, m) }
          if
          :: d_step { count(extendLeft[a]) }
          :: UNHEARD -> printf("(unheard)\n")
          fi
       :: HAS(extending[a], m) && VOTES(a, m) && lock[m] != a ->
          d_step { extending[a] = extending[a] & ~BIT(m); UNTIL(a, m) = 0; printf("attempt %d does not have master %d\n", a, m) }
       /* the undo of an early grant: the attempt learns that no copy will come, or another copy may come */
       :: HAS(undoing[a], m) ->
          d_step {
            printf("the undo of attempt %d comes to master %d\n", a, m);
            if :: lock[m] == a -> lock[m] = 0; left[m] = 0 :: else fi
          }
          if
          :: d_step { undoing[a] = undoing[a] & ~BIT(m) }
          :: printf("(another copy may come)\n")
          fi
       :: HAS(freeing[a], m) ->
          d_step {
            freeing[a] = freeing[a] & ~BIT(m);
            printf("attempt %d frees master %d\n", a, m);
            if :: lock[m] == a -> lock[m] = 0; left[m] = 0 :: else fi;
            if :: WITHDRAW -> offer[a] = offer[a] & ~BIT(m) :: else fi;
            if :: MARK && !HAS(known[a], m) -> marked[a] = marked[a] | BIT(m) :: else fi;
            freed[a] = freed[a] | BIT(m)
          }
       :: else
       fi; d_step { order() } }

  /* a release grants the lock, or a lock that has expired is granted in the same way */
  :: atomic { someAttempt(); someMaster();
       if
       :: GIVES(a, m) ->
          d_step {
            offer[a] = offer[a] & ~BIT(m); take(SHORT);
            if :: phase[a] != OVER || !OWNER -> notice[a] = notice[a] | BIT(m) :: else fi;
            printf("a release gives master %d to attempt %d\n", m, a)
          }
       :: else
       fi; d_step { order() } }

  /* a notice comes */
  :: atomic { someAttempt(); someOther(); someMaster();
       if
       :: HAS(notice[b], m) && (a == b || !OWNER) && (phase[a] == ASKING || phase[a] == HELD) ->
          d_step { printf("the notice of master %d for attempt %d comes to attempt %d\n", m, b, a) }
          if
          :: true
          :: ASTRAY && !NAMED && a == 1 && m == 1 -> d_step { m = 0; printf("(by the subscription to master 0)\n") }
          fi;
          d_step {
            known[a] = known[a] | BIT(m);
            k = (SENT -> givenLeft[a] : GIVEN);
            count(k)
          }
       :: else
       fi; d_step { order() } }

#if CHANGE
  :: atomic { someMaster();
       if
       :: m < 2 && at[m] == 1 -> d_step {
            at[m] = 2; printf("master %d is at version 2\n", m);
            if :: at[0] == 2 && at[1] == 2 -> quarantine = TTL :: else fi }
       :: else
       fi; d_step { order() } }
#endif
  od
}
