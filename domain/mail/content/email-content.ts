/**
 * The content of an e-mail, as a designer writes it. Rows and responses contain the content in the contract's form, so its fields have the
 * contract's names.
 */
export interface EmailContent {
  subject: string;
  preheader?: string;
  reply_to?: string;
  blocks: readonly EmailBlock[];
}

export const blockKinds = ['heading', 'text', 'image', 'button', 'divider'] as const;

export interface EmailBlock {
  kind: (typeof blockKinds)[number];
  /** The text of the block. It is one line for a heading or a button, and Markdown for a text block. */
  text?: string;
  /** The level of a heading: 1 to 6, or 2 if absent. */
  level?: number;
  /** The address that opens after a click on a button or an image. */
  url?: string;
  media_id?: string;
  /** The description of an image, for readers who do not see it. */
  alt?: string;
}

/** The limits of an e-mail's content (CAMP-4). */
export const contentRules = {
  blocks: 100,
  blockCharacters: 10_000,
  lineCharacters: 200,
  urlCharacters: 2_048,
} as const;
