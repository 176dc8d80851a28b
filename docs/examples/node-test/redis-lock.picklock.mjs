import { RedisLock } from './redis-lock.mjs';

export default (client) => new RedisLock(client.servers[0], client.key, client.ttl);
