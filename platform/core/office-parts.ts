/** Which part of an Office Open XML file is its main one: its relationships say so, or its types of contents, whatever its name. */
import { childrenOf, MalformedXml, parseXml, type XmlElement } from './xml.ts';

/** Every such file has it. */
export const contentTypesPart = '[Content_Types].xml';
export const packageRelations = '_rels/.rels';

export interface Relation {
  id: string;
  /** The last word of its type: `officeDocument`, `styles`, `slide`. The words before it differ between editions of the standard. */
  type: string;
  /** The name of the part in the archive. */
  target: string;
}

/**
 * @param root of a part of relationships
 * @param folder where the part stands that has them: empty, or with a slash at its end
 * @returns those to other parts of the file
 */
export function relationsIn(root: XmlElement | undefined, folder: string): Relation[] {
  return [...childrenOf(root, 'Relationship')]
    .filter(({ attributes }) => attributes['TargetMode'] !== 'External')
    .map(({ attributes }) => ({
      id: attributes['Id'] ?? '',
      type: (attributes['Type'] ?? '').split('/').at(-1) ?? '',
      target: nameOf(attributes['Target'] ?? '', folder),
    }));
}

/** A target is a path from the folder or from the archive's root. What leads elsewhere is a name that the archive lacks. */
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
  /** What the types of contents say of it, in lower case; empty where they say nothing. */
  contentType: string;
}

/**
 * @param parts the two parts that say which one it is, as far as they are there; what of them is malformed says nothing
 * @param has whether the archive has a part of this name
 */
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

/** All in lower case: names and types are the same in any. */
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
