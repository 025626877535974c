/**
 * Compiled e-mails that are looked at again and again. Reads have no limit, and the largest e-mail takes 0.4 s of the process to
 * compile; so each is compiled once for all who look at it, and another one takes a write.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { compileEmail, type CompiledEmail, type Letterhead } from './compile.ts';
import type { EmailContent } from './email-content.ts';

/** Of JSON, of those that were looked at last. */
const keptBytes = 20_000_000;

/**
 * @param compile another one in tests
 * @returns compiles an e-mail, or gives what was compiled of the same content and letterhead, which nobody may change
 */
export function keepCompiled(compile: typeof compileEmail = compileEmail): typeof compileEmail {
  const kept = new LRUCache<string, CompiledEmail, Parameters<typeof compileEmail>>({
    maxSize: keptBytes,
    sizeCalculation: (compiled) => JSON.stringify(compiled).length,
    fetchMethod: (_key, _stale, { context }) => compile(...context),
  });
  return (content: EmailContent, letterhead: Letterhead) => {
    const key = createHash('sha256')
      .update(JSON.stringify([content, letterhead]))
      .digest('base64url');
    return kept.forceFetch(key, { context: [content, letterhead] });
  };
}
