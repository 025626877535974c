/** Elements of the handbooks' XML in order, and their text. */
import { ElementType, parseDocument } from 'htmlparser2';

type Node = ReturnType<typeof parseDocument>['children'][number];
export type Element = Extract<Node, { attribs: object }>;

/** @returns the elements at the top */
export function parseXml(text: string): Element[] {
  return elementsOf(parseDocument(text, { xmlMode: true, decodeEntities: true }));
}

export const isElement = (node: Node): node is Element => 'name' in node && 'attribs' in node;

/** @returns elements without text and comments */
export const elementsOf = (parent: { children: Node[] }): Element[] => parent.children.filter(isElement);

/** @returns the element itself, or an element inside it at any depth */
export function find(elements: readonly Element[], fits: (element: Element) => boolean): Element | undefined {
  for (const element of elements) {
    const found = fits(element) ? element : find(elementsOf(element), fits);
    if (found) return found;
  }
  return undefined;
}

/** @returns the text without the elements that are left out */
export function rawText(nodes: readonly Node[], leaveOut: (element: Element) => boolean = () => false): string {
  return nodes
    .map((node) => {
      if (node.type === ElementType.ElementType.Text) return node.data;
      return isElement(node) && !leaveOut(node) ? rawText(node.children, leaveOut) : '';
    })
    .join('');
}

export const withSingleSpaces = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** @returns the text with single spaces */
export const textOf = (element: Element): string => withSingleSpaces(rawText(element.children));

export const hasClass = (element: Element, name: string): boolean =>
  (element.attribs['class'] ?? '').split(' ').includes(name);
