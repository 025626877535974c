/** Names the device of a client by its header `User-Agent`, in words that people know (SES-9). The header is untrusted. */
// The names of programs in this header have hundreds of historical rules, so this maintained library reads them.
import Bowser from 'bowser';

/** Real headers are shorter. The library's patterns need about 0.1 ms for this length. */
const maxLength = 512;

/**
 * The library returns a part of the header if it does not know the program. Such a part could be any text of a stranger, so only these names
 * are used.
 */
const browsers: ReadonlySet<string | undefined> = new Set(Object.values(Bowser.BROWSER_MAP));
const systems: ReadonlySet<string | undefined> = new Set(Object.values(Bowser.OS_MAP));

/**
 * @param userAgent the header; empty if the request has none
 * @returns a label such as `Firefox (Windows)`; null if neither program nor system is known
 */
export function deviceLabel(userAgent: string): string | null {
  const header = userAgent.slice(0, maxLength);
  if (header.trim() === '') return null;
  const { browser, os } = Bowser.parse(header);
  const program = browsers.has(browser.name) ? browser.name : undefined;
  const system = systems.has(os.name) ? os.name : undefined;
  return (program && system ? `${program} (${system})` : program || system) || null;
}
