import lock from './redis-lock.picklock.mjs';

export function noisy(client) {
  console.log('a word of the lock');
  return Object.defineProperty(lock(client), 'token', { get: () => 1, set: () => {} }); // none that rises
}

export const dozing = (client) => Object.assign(lock(client), { watchdog: true }); // it does not renew
