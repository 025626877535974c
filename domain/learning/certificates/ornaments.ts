/** The ornaments of a printed certificate, which this module draws from lines and curves. Measures are in points. */

/** Landscape A4. */
export const page = { width: 841.89, height: 595.28 } as const;

export const paint = {
  ink: '#1b2a41',
  soft: '#59647a',
  gold: '#9c7a2e',
  bright: '#c9a655',
  paper: '#fdfbf5',
  white: '#ffffff',
} as const;

/** Draws the paper with a faint rosette, and a double frame with a lozenge in each corner. @param accent the colour of the middle line */
export function drawFrame(pdf: PDFKit.PDFDocument, accent: string): void {
  pdf.rect(0, 0, page.width, page.height).fill(paint.paper);
  drawRosette(pdf);
  drawBox(pdf, 24, 1.2, paint.ink);
  drawBox(pdf, 30, 3, accent);
  drawBox(pdf, 37, 0.6, paint.ink);
  for (const x of [37, page.width - 37]) for (const y of [37, page.height - 37]) drawLozenge(pdf, x, y, 9);
}

function drawBox(pdf: PDFKit.PDFDocument, inset: number, width: number, color: string): void {
  pdf
    .lineWidth(width)
    .rect(inset, inset, page.width - 2 * inset, page.height - 2 * inset)
    .stroke(color);
}

/** Draws ellipses that are rotated around their common centre, as on banknotes. */
function drawRosette(pdf: PDFKit.PDFDocument): void {
  const middle = { x: page.width / 2, y: page.height / 2 };
  pdf.save().lineWidth(0.5).strokeOpacity(0.16).strokeColor(paint.bright);
  for (let angle = 0; angle < 180; angle += 5) {
    pdf.save().rotate(angle, { origin: [middle.x, middle.y] });
    pdf.ellipse(middle.x, middle.y, 245, 150).stroke().restore();
  }
  pdf.restore();
}

function drawLozenge(pdf: PDFKit.PDFDocument, x: number, y: number, reach: number): void {
  pdf.polygon([x - reach, y], [x, y - reach], [x + reach, y], [x, y + reach]).fill(paint.paper);
  const inner = reach - 3;
  pdf.polygon([x - inner, y], [x, y - inner], [x + inner, y], [x, y + inner]).fill(paint.bright);
}

/** Draws a line with a lozenge in its middle. @param half the length on each side of the lozenge */
export function drawRule(pdf: PDFKit.PDFDocument, x: number, y: number, half: number): void {
  pdf
    .lineWidth(0.8)
    .moveTo(x - half, y)
    .lineTo(x - 10, y)
    .moveTo(x + 10, y)
    .lineTo(x + half, y)
    .stroke(paint.bright);
  drawLozenge(pdf, x, y, 8);
}

/** Draws a seal with a scalloped edge, two ribbons and a check mark, in the accent colour. */
export function drawSeal(pdf: PDFKit.PDFDocument, { x, y, accent }: { x: number; y: number; accent: string }): void {
  for (const side of [-1, 1]) {
    const [inner, outer] = [x + side * 4, x + side * 26];
    pdf.polygon(
      [inner, y + 24],
      [outer, y + 18],
      [outer + side * 6, y + 62],
      [(inner + outer) / 2 + side * 4, y + 53],
      [inner + side * 6, y + 64],
    );
    pdf.fill(paint.ink);
  }
  const scallops = 24;
  const edge = Array.from({ length: 2 * scallops }, (_, index): [number, number] => {
    const angle = (Math.PI * index) / scallops;
    const reach = index % 2 === 0 ? 42 : 37.5;
    return [x + reach * Math.cos(angle), y + reach * Math.sin(angle)];
  });
  pdf.polygon(...edge).fill(accent);
  pdf.lineWidth(0.9).circle(x, y, 32).stroke(paint.paper);
  pdf.lineWidth(0.5).circle(x, y, 29).stroke(paint.paper);
  pdf.save().lineWidth(5).lineCap('round').lineJoin('round');
  pdf
    .moveTo(x - 13, y + 1)
    .lineTo(x - 4, y + 10)
    .lineTo(x + 14, y - 10)
    .stroke(paint.paper)
    .restore();
}
