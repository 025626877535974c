/** How text that people typed is brought into one form. */

/** E-mail addresses are compared without regard to case and to how accents are composed. */
export function foldEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

/** Names keep their letters; surrounding and doubled white space goes. */
export function tidyName(name: string): string {
  return name.normalize('NFC').trim().replace(/\s+/g, ' ');
}

/** Escapes what LIKE gives a meaning to. */
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

/** Makes text that may stand in HTML, between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entityOf[character] ?? character);
}
