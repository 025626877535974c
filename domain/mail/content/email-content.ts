/** The content of an e-mail, as a designer writes it. It is stored and returned in the contract's form, with the contract's names. */
export interface EmailContent {
  subject: string;
  preheader?: string;
  reply_to?: string;
  blocks: readonly EmailBlock[];
}

export const blockKinds = ['heading', 'text', 'image', 'button', 'divider'] as const;

export interface EmailBlock {
  kind: (typeof blockKinds)[number];
  /** One line for a heading or a button, Markdown for a text block. */
  text?: string;
  /** 1 to 6, or 2 if absent. */
  level?: number;
  /** The address that opens after a click on a button or an image. */
  url?: string;
  media_id?: string;
  /** The description for readers who do not see the image. */
  alt?: string;
}

/** The limits of an e-mail's content (CAMP-4). */
export const contentRules = {
  blocks: 100,
  blockCharacters: 10_000,
  lineCharacters: 200,
  urlCharacters: 2_048,
} as const;
