/** Whether Postgres keeps it as text: a NUL byte and half of a surrogate pair it does not. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
