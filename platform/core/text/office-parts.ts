/** Finds the main part of an Office Open XML file. The part may have any name; relationships or content types state it. */
import { childrenOf, MalformedXml, parseXml, type XmlElement } from './xml.ts';

export const contentTypesPart = '[Content_Types].xml';
export const packageRelations = '_rels/.rels';

export interface Relation {
  id: string;
  /** The last word of the relationship's type, such as `styles`. The words before it differ between editions of the standard. */
  type: string;
  target: string;
}

/** @param folder empty, or with a slash at its end */
export function relationsIn(root: XmlElement | undefined, folder: string): Relation[] {
  return [...childrenOf(root, 'Relationship')]
    .filter(({ attributes }) => attributes['TargetMode'] !== 'External')
    .map(({ attributes }) => ({
      id: attributes['Id'] ?? '',
      type: (attributes['Type'] ?? '').split('/').at(-1) ?? '',
      target: nameOf(attributes['Target'] ?? '', folder),
    }));
}

/** A target is relative to the folder or to the archive's root. A path out of the archive gives a name that no part has. */
function nameOf(target: string, folder: string): string {
  const path = URL.parse(target, `file:///${folder}`)?.pathname.slice(1) ?? target;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

export interface MainPart {
  name: string;
  /** The type in lower case; empty if the file states none. */
  contentType: string;
}

/** @param parts the two parts that can name the main part, if the file has them. Malformed content in them is ignored */
export function mainPartOf(
  parts: { relations: string | undefined; contentTypes: string | undefined },
  has: (name: string) => boolean,
): MainPart | undefined {
  const types = contentTypesIn(wellFormed(parts.contentTypes));
  const related = relationsIn(wellFormed(parts.relations), '').filter(({ type }) => type === 'officeDocument');
  const stated = [...types.byName].filter(([, type]) => type.endsWith('.main+xml'));
  const name = [...related.map(({ target }) => target), ...stated.map(([part]) => part)].find(has);
  if (name === undefined) return undefined;
  const extension = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  return { name, contentType: types.byName.get(name.toLowerCase()) ?? types.byExtension.get(extension) ?? '' };
}

/** Names and types are case-insensitive. */
function contentTypesIn(root: XmlElement | undefined) {
  const typesOf = (element: string, key: (attributes: XmlElement['attributes']) => string) =>
    new Map(
      [...childrenOf(root, element)].map(({ attributes }) => [
        key(attributes).toLowerCase(),
        (attributes['ContentType'] ?? '').toLowerCase(),
      ]),
    );
  return {
    byName: typesOf('Override', (attributes) => nameOf(attributes['PartName'] ?? '', '')),
    byExtension: typesOf('Default', (attributes) => attributes['Extension'] ?? ''),
  };
}

function wellFormed(xml: string | undefined): XmlElement | undefined {
  if (xml === undefined) return undefined;
  try {
    return parseXml(xml);
  } catch (error) {
    if (error instanceof MalformedXml) return undefined;
    throw error;
  }
}
