/*
 * Sets: several names that are held together, when sets overlap.
 *
 * Promises: no two sets that share a name are believed held at once. Each set is held
 * eventually, whatever the others do. When all sets are done, no lock is left.
 *
 * Each name of a set is a hold of its own, whose safety tokens.pml and exclusion.pml check.
 * So an acquisition that waits in line is one step here: it takes the name when a quorum of
 * masters is free. This model adds what only a set does: it asks for all its names at once,
 * one master after the other; it holds some of its names while it waits for the rest; and it
 * gives back some.
 *
 *   ORDER     1  the names are taken one after the other in an order that all share
 *             0  they are taken in the order in which they were given
 *   ROLLBACK  1  a failed attempt at all names gives back the locks that it was granted
 *             0  it gives back nothing
 *   WHOLE     1  when a set loses one name, it is lost, and its other names are released
 *             0  the set goes on with its other names
 *   EACH      1  a set is held when each of its names has a quorum
 *             0  it is held when one of its names has a quorum
 */

#ifndef ORDER
#define ORDER 1
#endif
#ifndef ROLLBACK
#define ROLLBACK 1
#endif
#ifndef WHOLE
#define WHOLE 1
#endif
#ifndef EACH
#define EACH 1
#endif

/* Bounds. Three sets of two of three names, each overlapping both others: 0 1, 1 2, 2 0. */
#ifndef LOSSES
#define LOSSES 1    /* names that are lost while a set has them */
#endif
#define N 3         /* masters */
#define SETS 3

/* Masters. */
byte lock[9];       /* by name and master. 0: free; 1 to 3: set 0 to 2 has it; 4 to 6: a failed attempt of set 0 to 2 has it */

byte losses;        /* names that were lost */
byte done;          /* the number of sets that are done */
bool held[SETS];    /* whether the set is believed held */

#define LOCK(n, m) lock[(n) * N + (m)]
#define FREE(n)    ((LOCK(n, 0) == 0) + (LOCK(n, 1) == 0) + (LOCK(n, 2) == 0))
#define HAS(n)     ((LOCK(n, 0) == s + 1) + (LOCK(n, 1) == s + 1) + (LOCK(n, 2) == s + 1))
#define QUORUM     2

/* change replaces one value by another in the locks of a name. */
inline change(n, from, to) {
    m = 0;
    do
    :: m < N ->
        if
        :: LOCK(n, m) == from -> LOCK(n, m) = to
        :: else
        fi;
        m++
    :: else -> break
    od;
    m = 0
}

inline ask(n) {
    if
    :: LOCK(n, m) == 0 -> LOCK(n, m) = s + 1
    :: else
    fi
}

proctype Set(byte s) {
    byte first, second, m, asked;
    d_step {
        first = s;
        second = (s + 1) % 3;
        if
        :: ORDER && second < first -> first = second; second = s
        :: else
        fi
    }

    /* The attempt at all names asks one master after the other. It may end early. */
    do
    :: asked != 7 ->
        atomic {
            if
            :: !(asked & 1) -> m = 0
            :: !(asked & 2) -> m = 1
            :: !(asked & 4) -> m = 2
            fi;
            asked = asked | (1 << m);
            ask(first); ask(second);
            m = 0
        }
    :: asked != 0 -> break
    od;
    asked = 0;
    atomic {
        if
        :: HAS(first) >= QUORUM && HAS(second) >= QUORUM ||
           !EACH && (HAS(first) >= QUORUM || HAS(second) >= QUORUM) ->
            printf("set %d has its names at once\n", s);
            goto complete
        :: else ->
            printf("set %d does not get its names at once\n", s);
            if
            :: ROLLBACK -> change(first, s + 1, 0); change(second, s + 1, 0)
            :: else -> change(first, s + 1, s + 4); change(second, s + 1, s + 4) /* another owner */
            fi
        fi
    };

inOrder:
    atomic {
        FREE(first) >= QUORUM -> change(first, 0, s + 1);
        printf("set %d has name %d, and waits for %d\n", s, first, second)
    };
    if
    :: atomic {
        FREE(second) >= QUORUM -> change(second, 0, s + 1);
        printf("set %d has name %d\n", s, second)
       }
    :: atomic {
        losses < LOSSES -> losses++; change(first, s + 1, 0);
        printf("set %d loses name %d, and begins anew\n", s, first);
        goto inOrder
       }
    fi;

complete:
    atomic {
        held[s] = true;
        printf("set %d is held\n", s);
        assert(held[0] + held[1] + held[2] <= 1) /* any two sets share a name */
    };
    if
    :: skip
    :: atomic {
        losses < LOSSES -> losses++; change(first, s + 1, 0);
        printf("set %d loses name %d\n", s, first);
        if
        :: WHOLE -> held[s] = false
        :: else
        fi
       }
    fi;
    atomic {
        change(first, s + 1, 0); change(second, s + 1, 0);
        printf("set %d is over\n", s);
        held[s] = false;
        done++
    }
}

init {
    byte i;
    atomic { run Set(0); run Set(1); run Set(2) };
    if
    :: done == SETS ->
        d_step {
            do
            :: i < 9 -> assert(lock[i] == 0); i++
            :: else -> break
            od
        }
    :: timeout -> assert(done == SETS) /* all wait for each other */
    fi
}
