/**
 * Finds the main part of an Office Open XML file. The file's relationships or content types identify the main part, and the part may have
 * any name.
 */
import { childrenOf, MalformedXml, parseXml, type XmlElement } from './xml.ts';

/** Every Office Open XML file has this part. */
export const contentTypesPart = '[Content_Types].xml';
export const packageRelations = '_rels/.rels';

export interface Relation {
  id: string;
  /**
   * The last word of the relationship's type: `officeDocument`, `styles`, `slide`. The words before the last word differ between editions
   * of the standard.
   */
  type: string;
  /** The name of the part in the archive. */
  target: string;
}

/**
 * @param root the XML of a relationships part
 * @param folder the folder of the part that owns the relationships: empty, or with a slash at its end
 * @returns the relationships to other parts of the file
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

/**
 * Returns the name of the archive's part to which a target points. A target is a path relative to the folder or to the archive's root. If
 * the path leads out of the archive, the result is a name that no part has.
 */
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
  /** The content type of the part, in lower case; empty if the file states none. */
  contentType: string;
}

/**
 * @param parts the two parts that can name the main part, if the file has them. Malformed content in them is ignored
 * @param has a function that returns whether the archive has a part of this name
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

/** Everything is compared in lower case, because names and types are case-insensitive. */
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
