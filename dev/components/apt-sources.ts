/** Finds the Debian archives in the apt sources of this machine, so that downloads use its mirror. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** @returns the addresses of Debian's main archive, without duplicates and trailing slashes; empty without apt */
export async function debianArchives(directory = '/etc/apt'): Promise<string[]> {
  const parts = path.join(directory, 'sources.list.d');
  const names: string[] = await readdir(parts).catch(() => []);
  const files = [path.join(directory, 'sources.list'), ...names.toSorted().map((name) => path.join(parts, name))];
  const addresses: string[] = [];
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (file.endsWith('.sources')) addresses.push(...addressesInStanzas(text));
    else if (file.endsWith('.list')) addresses.push(...addressesInLines(text));
  }
  const archives = addresses.filter(isDebianArchive).map((address) => address.replace(/\/$/, ''));
  return [...new Set(archives)];
}

/** Includes snapshots (`…/archive/debian/<time>`), but not `debian-security`. */
function isDebianArchive(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) && url.pathname.split('/').includes('debian');
}

/** @param text the text of a `.list` file, with lines such as `deb [signed-by=…] http://deb.example.com/debian trixie main` */
function addressesInLines(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [type, address] = line
      .replace(/\[[^\]]*\]/, '')
      .trim()
      .split(/\s+/);
    return type === 'deb' && address !== undefined ? [address] : [];
  });
}

/** @param text the text of a `.sources` file: fields, with a blank line between stanzas (deb822) */
function addressesInStanzas(text: string): string[] {
  const lines = text.split('\n').filter((line) => !line.startsWith('#'));
  const stanzas = lines.join('\n').split(/\n[ \t]*\n/);
  return stanzas.flatMap((stanza) => {
    const isUsed = wordsOf(stanza, 'types').includes('deb') && !wordsOf(stanza, 'enabled').includes('no');
    return isUsed ? wordsOf(stanza, 'uris') : [];
  });
}

/** The value of a field may continue on the following lines, which then begin with a blank. @returns the words of the field's value */
function wordsOf(stanza: string, field: string): string[] {
  const words: string[] = [];
  let isField = false;
  for (const line of stanza.split('\n')) {
    const colon = line.indexOf(':');
    if (!/^\s/.test(line)) isField = line.slice(0, colon).trim().toLowerCase() === field;
    if (isField) words.push(...(/^\s/.test(line) ? line : line.slice(colon + 1)).trim().split(/\s+/));
  }
  return words.filter((word) => word !== '');
}
