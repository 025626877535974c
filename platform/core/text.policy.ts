/** How text that people typed is brought into one form. */

/** E-mail addresses are compared without regard to case and to how accents are composed. */
export function foldEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

/** Names keep their letters; surrounding and doubled white space goes. */
export function tidyName(name: string): string {
  return name.normalize('NFC').trim().replace(/\s+/g, ' ');
}

/** What mail programs turn into a link by themselves: a scheme, `www.`, or a name under a domain that many know. */
const webAddress = new RegExp(
  String.raw`[a-z][a-z0-9+.-]*://|\bwww\.|[\p{L}\p{N}]\.(?:[a-z]{2}|com|net|org|info|biz|name|pro|app|dev|xyz|top|club|shop|store|site|online|live|link|click|page|space|tech|website|icu|vip|work|world|today|email|news|blog|cloud|digital|agency|academy|school)(?![\p{L}\p{N}])`,
  'iu',
);

/** Whether a text holds something that a mail program would show as a link. */
export function holdsWebAddress(text: string): boolean {
  return webAddress.test(text);
}

/** Escapes the wildcards of LIKE. */
export function likePattern(search: string): string {
  return `%${search.replace(/[\\%_]/g, (character) => `\\${character}`)}%`;
}

const entityOf: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML, between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entityOf[character] ?? character);
}
