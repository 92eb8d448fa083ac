// Locks on a quorum of Redis masters, by a redlock agent beside this program.
//
//     const { Session } = require('redlock-agent');
//
//     const session = new Session('/run/redlock/agent.sock');
//     await session.withLock('payroll', { wait: 60_000 }, async (lock) => {
//       for (const person of people) {
//         lock.check(); // throws Lost when the lock can no longer be proved
//         await pay(person, lock.token, { signal: lock.signal }); // hand the token to every store that you write to
//       }
//     });
//     await session.close();
//
// There is no promise that work stops before another program holds the lock. This program may be paused
// after it checked the lock and before it acts. The token helps: a store that refuses each token below the
// highest that it has seen (docs/FENCING.md) refuses writes that come too late. Compare tokens as numbers
// (BigInt).
//
// A lock is lost when it can no longer be proved. That is when the time that the agent granted is over by this
// program's own clock, whatever the network does, or earlier, if the agent answers that the lock is
// lost. Then lock.check() throws Lost, lock.left() is 0, lock.signal aborts with Lost, and withLock rejects
// with Lost. Code that does not return to the event loop gets no signal: check the lock between its steps.
//
// When the agent has ended the session or has restarted, its locks are lost, and the next lock
// opens a new session. A child process, or a worker, needs a Session of its own.
//
// This is one file, for Node 18 and later. It needs no other package. All times are in milliseconds.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const { randomBytes } = require('node:crypto');

// Problem: the agent refused the request. word is the last word of the problem's type, such as "held".
class Problem extends Error {
  constructor(word, status, answer) {
    super(`${word}: ${answer.detail}`);
    Object.assign(this, { word, status, retryable: Boolean(answer.retryable), freeIn: answer.free_in_ms || 0 });
  }
}

// Lost: the lock was held, and can no longer be proved: another program may hold it.
class Lost extends Error {}

// Unreachable: the agent did not answer. The request may have had its effect or not; no lock is held.
class Unreachable extends Error {}

// Closed: the session was closed.
class Closed extends Error {}

// now returns the time of the clock for leases, in ms. On Linux this clock also counts the time for which
// the machine is suspended, and goes on in steps of STEP ms.
const now = () => {
  try {
    return Math.round(Number(fs.readFileSync('/proc/uptime', 'latin1').split(' ', 1)[0]) * 1000);
  } catch {
    return Number(process.hrtime.bigint() / 1_000_000n);
  }
};
const STEP = 10;

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// Session is a session of this program with the agent at address: the path of a Unix socket, or
// https://host:port with a token and, if the system does not trust the agent's certificate, ca (in PEM).
// The first lock opens the session. The session ends ttl after the agent got the last request.
class Session {
  #address; #token; #ca; #ttl;
  #path = null; // of the session with the agent; null: there is none
  #until = 0; // when the session ends, by the agent's last answer
  #asked = 0; // when the agent was last asked to keep the session
  #opening = null; // a promise, while a session is opened
  #locks = new Set(); // the locks whose work runs
  #timer = null;
  #keeping = false;
  #closed = false;

  constructor(address, { ttl = 15_000, token, ca } = {}) {
    [this.#address, this.#token, this.#ca, this.#ttl] = [address, token, ca, ttl];
  }

  // withLock runs work(lock) while it holds name, or each of an array of names, and resolves to the
  // result of work. It waits for the lock for wait ms at most; 0 means one attempt. lock has token (a
  // string), tokens (by name, for an array), signal, left() and check(). withLock rejects with a Problem
  // (its word is "held" if others hold the lock), Unreachable, Lost, or the exception of work.
  async withLock(name, options, work) {
    const lock = new Lock(name);
    const home = await this.#acquire(lock, name, options);
    const path = `${home}/locks/${lock.id}`;
    try {
      const result = await work(lock);
      lock.check();
      this.#leave(lock);
      try {
        await this.#ask('DELETE', path, undefined, 2000);
      } catch (error) {
        if (error instanceof Problem && ['lost', 'expired', 'no-session'].includes(error.word)) throw new Lost(error.message);
        if (error instanceof Unreachable) this.#forget(home, path);
      }
      return result;
    } catch (error) {
      if (this.#locks.has(lock)) this.#forget(home, path);
      throw error;
    } finally {
      this.#leave(lock);
    }
  }

  // close ends the session, and releases its locks.
  async close() {
    const path = this.#path;
    this.#closed = true;
    this.#end(path, 'its session was closed');
    if (path) await this.#delete(path);
  }

  #delete(path) { return this.#ask('DELETE', path, undefined, 2000).catch(() => {}); } // the session ends by itself

  // #ask resolves to the answer. The field sent of the answer is the moment before the request was sent.
  #ask(method, path, body, timeout) {
    return new Promise((resolve, reject) => {
      const sent = now();
      const failed = (error) => {
        clearTimeout(timer);
        reject(new Unreachable(`${method} at ${this.#address}: ${error.message}`));
      };
      const options = { method, path, agent: false, headers: { 'Content-Type': 'application/json' } };
      if (this.#token !== undefined) options.headers.Authorization = `Bearer ${this.#token}`;
      const received = (response) => {
        let text = '';
        response.on('data', (part) => { text += part; });
        response.on('error', failed);
        response.on('end', () => {
          let answer;
          try {
            answer = JSON.parse(text);
            if (response.statusCode === 408 || !answer || !response.complete) throw new Error(`status ${response.statusCode}`);
          } catch (error) {
            failed(error);
            return;
          }
          clearTimeout(timer);
          if (response.statusCode === 200) resolve({ sent, ...answer });
          else reject(new Problem(String(answer.type).split('#').pop(), response.statusCode, answer));
        });
      };
      const request = this.#address.startsWith('https://')
        ? https.request(this.#address, { ...options, ca: this.#ca }, received)
        : http.request({ ...options, socketPath: this.#address }, received);
      const timer = setTimeout(() => request.destroy(new Error('no answer')), timeout);
      request.on('error', failed);
      request.end(body && JSON.stringify(body));
    });
  }

  // #open opens a session with the agent, unless there is one, and resolves to its path.
  async #open() {
    if (this.#closed) throw new Closed('the session was closed');
    if (this.#path) return this.#path;
    this.#opening ??= this.#ask('POST', '/v1/sessions', { ttl_ms: this.#ttl }, this.#ttl).then(async (answer) => {
      const path = `/v1/sessions/${answer.session}`;
      if (this.#closed) { // close found no session
        await this.#delete(path);
        throw new Closed('the session was closed');
      }
      this.#path = path;
      [this.#asked, this.#until] = [answer.sent, answer.sent + answer.valid_for_ms];
      this.#plan();
      return path;
    }).finally(() => { this.#opening = null; });
    return this.#opening;
  }

  // #end ends the session at path and makes its locks lost, unless a newer session is open.
  #end(path, why) {
    if (!path || this.#path !== path) return;
    this.#path = null;
    for (const lock of this.#locks) lock.lose(why);
    this.#plan();
  }

  // #acquire repeats the request until an answer leaves enough time: the same request gets the same lock.
  // If the session has ended, nothing was locked, and #acquire opens a new session.
  async #acquire(lock, name, { wait = 0, ttl, mode = 'write', holdAtLeast }) {
    const end = now() + wait;
    const want = { mode, ttl_ms: ttl, hold_at_least_ms: holdAtLeast, [Array.isArray(name) ? 'names' : 'name']: name };
    let home;
    let again = false;
    try {
      for (;;) {
        let why;
        try {
          const opened = await this.#open();
          if (opened !== home) [home, want.wait_ms] = [opened, Math.max(0, end - now())];
          const answer = await this.#ask('PUT', `${home}/locks/${lock.id}`, want, Math.max(0, end - now()) + this.#ttl);
          const took = now() + STEP - answer.sent;
          if (took < answer.valid_for_ms / (again ? 2 : 10) && this.#path === home) {
            lock.hold(answer);
            this.#locks.add(lock);
            this.#plan();
            return home;
          }
          [again, why] = [true, 'its answers take too long']; // this answer came late: the next answer leaves more time
        } catch (error) {
          why = error.message;
          if (error instanceof Problem && error.word === 'no-session') this.#end(home, why);
          else if (error instanceof Unreachable) await pause(100);
          else throw error;
        }
        if (now() >= end + this.#ttl) throw new Unreachable(`no lock of ${lock.name} in time: ${why}`);
      }
    } catch (error) {
      // After the unlock, the agent refuses a request to lock that arrives later.
      if (home && !(error instanceof Problem)) this.#forget(home, `${home}/locks/${lock.id}`);
      throw error;
    }
  }

  // #forget unlocks in the background: it sends the request again until the agent answers, or the
  // session has ended.
  async #forget(home, path) {
    for (;;) {
      try {
        await this.#ask('DELETE', path, undefined, 2000);
        return;
      } catch (error) {
        if (error instanceof Problem || this.#path !== home) return;
      }
      await pause(500);
    }
  }

  #leave(lock) {
    lock.leave();
    this.#locks.delete(lock);
    this.#plan();
  }

  // #plan sets when to renew the session, by the time left of the lock that ends first.
  #plan() {
    clearTimeout(this.#timer);
    if (this.#closed || !this.#path || this.#keeping) return;
    const due = this.#asked + Math.max(100, (this.#first() - this.#asked) / 3) - now();
    this.#timer = setTimeout(() => this.#keep(), Math.min(Math.max(0, due), 1000)); // a timer does not count a suspend
  }

  #first() { return Math.min(this.#until, ...[...this.#locks].filter((lock) => !lock.why).map((lock) => lock.until)); }

  async #keep() {
    const [path, before, first, at] = [this.#path, [...this.#locks], this.#first(), now()];
    if (at < this.#asked + Math.max(100, (first - this.#asked) / 3)) return this.#plan();
    if (at + STEP >= this.#until) return this.#end(path, 'its time was over before the agent answered');
    [this.#keeping, this.#asked] = [true, at];
    try {
      const kept = await this.#ask('POST', `${path}/keep`, undefined, Math.max(100, (first - at) / 2));
      if (this.#path === path) {
        this.#until = Math.max(this.#until, kept.sent + kept.valid_for_ms);
        for (const lock of before) { // the answer may lack newer locks
          const held = kept.locks.find((one) => one.id === lock.id);
          if (held) lock.believe(kept.sent + held.valid_for_ms);
          else if (this.#locks.has(lock)) lock.lose('the agent does not hold it any more');
        }
      }
    } catch (error) {
      if (error instanceof Problem && error.word === 'no-session') this.#end(path, error.message);
    } finally { // #keep runs again, until the clock ends the session and its locks
      this.#keeping = false;
      this.#plan();
    }
  }
}

// Lock is the argument of work.
class Lock {
  #controller = new AbortController();
  #timer = null;
  #inside = false;

  constructor(name) {
    Object.assign(this, { name, id: randomBytes(16).toString('hex'), until: 0, why: '', token: '', tokens: {} });
  }

  // signal aborts when the lock is lost.
  get signal() { return this.#controller.signal; }

  // left returns for how many ms the lock can be proved. When the caller acts, less may be left.
  left() {
    const left = this.until - now() - STEP;
    if (this.#inside && left <= 0) this.lose('its time was over before the agent renewed it');
    return this.#inside && !this.why ? left : 0;
  }

  // check throws Lost if the lock cannot be proved at this moment.
  check() {
    if (this.left() <= 0) throw this.#error();
  }

  #error() { return new Lost(`the lock of ${this.name} is lost: ${this.why || 'it is not held'}`); }

  // The methods below are for Session.

  hold(answer) {
    [this.token, this.tokens, this.#inside] = [answer.token, answer.tokens || {}, true];
    this.believe(answer.sent + answer.valid_for_ms);
  }

  believe(moment) {
    if (this.why || !this.#inside) return;
    this.until = Math.max(this.until, moment);
    this.#watch();
  }

  #watch() {
    clearTimeout(this.#timer);
    const left = this.left();
    if (left > 0) this.#timer = setTimeout(() => this.#watch(), Math.min(left, 1000)); // a timer does not count a suspend
  }

  lose(why) {
    if (this.why || !this.#inside) return;
    this.why = why;
    clearTimeout(this.#timer);
    this.#controller.abort(this.#error());
  }

  leave() {
    this.#inside = false;
    clearTimeout(this.#timer);
  }
}

module.exports = { Session, Problem, Lost, Unreachable, Closed };
