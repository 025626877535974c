/** Decides whether a colour is readable by WCAG 2.2 (success criterion 1.4.3). */

/** The lowest allowed contrast between text of normal size and its background. */
const leastContrast = 4.5;

/** @param color `#rrggbb` @returns the relative luminance of the colour, from 0 (black) to 1 (white) */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * @param color `#rrggbb`
 * @returns the contrast between the colour and white, from 1 to 21. White matters, because links are shown on white, and buttons have white
 *   text
 */
export function contrastWithWhite(color: string): number {
  return 1.05 / (luminance(color) + 0.05);
}

/** @param color `#rrggbb` */
export function isReadable(color: string): boolean {
  return contrastWithWhite(color) >= leastContrast;
}
