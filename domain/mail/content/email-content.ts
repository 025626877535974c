/** What a designer writes of an e-mail. Kept and answered as the contract has it, so its names are those of the wire. */
export interface EmailContent {
  subject: string;
  preheader?: string;
  reply_to?: string;
  blocks: readonly EmailBlock[];
}

export const blockKinds = ['heading', 'text', 'image', 'button', 'divider'] as const;

export interface EmailBlock {
  kind: (typeof blockKinds)[number];
  /** Of a heading and a button one line; of a text Markdown. */
  text?: string;
  /** Of a heading: 1 to 6, 2 if absent. */
  level?: number;
  /** Where a button, or a click on an image, leads. */
  url?: string;
  media_id?: string;
  /** What an image shows, in words. */
  alt?: string;
}

/** Bounds of an e-mail's content (CAMP-4). */
export const contentRules = {
  blocks: 100,
  blockCharacters: 10_000,
  lineCharacters: 200,
  urlCharacters: 2_048,
} as const;
