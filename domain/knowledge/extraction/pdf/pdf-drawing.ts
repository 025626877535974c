/**
 * Reads the drawing of a PDF page from the operator list of pdf.js: positions of letters, pictures, and the lines of tables. Coordinates
 * are points of the page as shown, from its lower left corner.
 */
import { letterOf, textOfString, type FontCodes } from './letters/pdf-letters.ts';

/** A letter, or several letters that are drawn as one shape. */
export interface Glyph {
  text: string;
  x: number;
  /** The vertical position of the letter's baseline. */
  y: number;
  /** The distance to the next letter. */
  width: number;
  size: number;
  /** The direction to the next letter, in degrees: 0 is to the right, 90 is upwards. */
  angle: number;
  /** The id of the tagged part of the page (marked content) around the letter. */
  mark: number | undefined;
  /** The file marks the letter as part of a header, a footer or a decoration. */
  isArtifact: boolean;
  /** Whether the letter is drawn without a visible shape. Scanners draw recognized letters like this. */
  isUnseen: boolean;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Picture extends Box {
  mark: number | undefined;
  isArtifact: boolean;
}

export interface Drawing {
  width: number;
  height: number;
  glyphs: Glyph[];
  pictures: Picture[];
  /** Straight lines parallel to the page's sides. */
  rules: Box[];
  /** The number of filled or drawn shapes. */
  shapes: number;
  hasHidden: boolean;
  hasUnmapped: boolean;
}

/** A font as pdf.js provides it after the page is read. */
interface Font {
  fontMatrix?: readonly number[];
  bbox?: readonly number[];
  vertical?: boolean;
  isType3Font?: boolean;
  composite?: boolean;
  defaultVMetrics?: readonly number[];
}

interface FontGlyph {
  unicode: string;
  width: number;
  vmetric?: readonly number[] | null;
  isSpace: boolean;
  originalCharCode?: number;
}

export interface PageSource {
  ops: Readonly<Record<string, number>>;
  fnArray: ArrayLike<number>;
  argsArray: ArrayLike<unknown>;
  view: readonly number[];
  /** Degrees, clockwise. */
  rotate: number;
  fontOf: (name: string) => Font | undefined;
  /** Whether the given optional content (a layer of the page) is visible. */
  isShown: (optional: unknown) => boolean;
  /** The codes of each font on the pages that were read. */
  codes: Map<string, FontCodes>;
}

type Matrix = readonly [number, number, number, number, number, number];
/** Marked content of a PDF: a part of the page with properties. The properties include the properties of the content around this part. */
interface Mark {
  mark: number | undefined;
  isArtifact: boolean;
  isHidden: boolean;
  /** The text that replaces the letters of the content (ActualText), and the first of these letters. */
  spoken?: { text: string; glyph?: Glyph } | undefined;
}

const identity: Matrix = [1, 0, 0, 1, 0, 0];

function times(outer: Matrix, inner: ArrayLike<number>): Matrix {
  const [a, b, c, d, e, f] = outer;
  const [p = 1, q = 0, r = 0, s = 1, t = 0, u = 0] = Array.from(inner);
  return [a * p + c * q, b * p + d * q, a * r + c * s, b * r + d * s, a * t + c * u + e, b * t + d * u + f];
}

interface State {
  matrix: Matrix;
  font: Font;
  fontName: string;
  size: number;
  letterSpace: number;
  wordSpace: number;
  stretch: number;
  leading: number;
  rise: number;
  mode: number;
  isWhite: boolean;
  /** `isPlaced`: a matrix was set since the state was saved. `hasDrawn`: a shape was drawn after it. */
  isPlaced: boolean;
  hasDrawn: boolean;
}

/** A page with more lines than this is a drawing, and not a table. */
const maxRules = 3_000;
const invisible = 3;

export function drawingOf(source: PageSource): Drawing {
  const { ops, view, rotate } = source;
  const [left = 0, bottom = 0, right = 0, top = 0] = view;
  const isTurned = rotate % 180 !== 0;
  const drawing: Drawing = {
    width: isTurned ? top - bottom : right - left,
    height: isTurned ? right - left : top - bottom,
    glyphs: [],
    pictures: [],
    rules: [],
    shapes: 0,
    hasHidden: false,
    hasUnmapped: false,
  };
  const isVisible = (
    {
      90: [0, -1, 1, 0, -bottom, right],
      180: [-1, 0, 0, -1, right, top],
      270: [0, 1, -1, 0, top, -left],
    } as Record<number, Matrix>
  )[((rotate % 360) + 360) % 360] ?? [1, 0, 0, 1, -left, -bottom];
  let state: State = {
    matrix: isVisible,
    font: {},
    fontName: '',
    size: 0,
    letterSpace: 0,
    wordSpace: 0,
    stretch: 1,
    leading: 0,
    rise: 0,
    mode: 0,
    isWhite: false,
    isPlaced: false,
    hasDrawn: false,
  };
  const saved: State[] = [];
  let line = identity;
  let at = identity;
  const marks: Mark[] = [];
  const fontNames = new Map<Glyph, string>();
  /** Letters inside masks are invisible. */
  let masks = 0;

  const moveBy = (x: number, y: number) => {
    line = times(line, [1, 0, 0, 1, x, y]);
    at = line;
  };
  const save = () => {
    saved.push(state);
    state = { ...state, isPlaced: false, hasDrawn: false };
  };
  const markNow = (): Mark => marks.at(-1) ?? { mark: undefined, isArtifact: false, isHidden: false };
  const isOnPage = (x: number, y: number) => x >= -1 && y >= -1 && x <= drawing.width + 1 && y <= drawing.height + 1;
  /** The operator list has the matrix that positions the picture, but not the picture itself. */
  const placePicture = () => {
    const box = boxOf(state.matrix, 0, 0, 1, 1);
    const { isHidden, mark, isArtifact } = markNow();
    if (!isHidden && Math.min(box.width, box.height) >= 4 && isOnPage(box.x + box.width / 2, box.y + box.height / 2))
      drawing.pictures.push({ ...box, mark, isArtifact });
  };
  const restore = () => {
    if (state.isPlaced && !state.hasDrawn) placePicture();
    state = saved.pop() ?? state;
    state.hasDrawn = true;
  };
  const show = (glyphs: readonly (FontGlyph | number | null)[]) => {
    state.hasDrawn = true;
    const { font, size, stretch, rise } = state;
    const scale = size * (font.fontMatrix?.[0] ?? 0.001);
    const placed = times(state.matrix, at);
    const { mark, isArtifact, isHidden, spoken } = markNow();
    const codes = codesOf(source.codes, state.fontName);
    const height = font.isType3Font ? type3Size(font, size) : Math.abs(size);
    const letterSize = height * Math.hypot(placed[2], placed[3]);
    let along = 0;
    for (const glyph of glyphs) {
      if (glyph === null) continue;
      if (typeof glyph === 'number') {
        along += ((font.vertical ? 1 : -1) * glyph * size) / 1_000;
        continue;
      }
      const space = state.letterSpace + (glyph.isSpace ? state.wordSpace : 0);
      const vertical = glyph.vmetric ?? font.defaultVMetrics;
      const step = font.vertical ? -(vertical?.[0] ?? -1_000) * scale - space : glyph.width * scale + space;
      const [before, after] = [along, along + step];
      along = after;
      const [from, to] = font.vertical
        ? [times(placed, [1, 0, 0, 1, 0, -before]), times(placed, [1, 0, 0, 1, 0, -after])]
        : [times(placed, [1, 0, 0, 1, before * stretch, rise]), times(placed, [1, 0, 0, 1, after * stretch, rise])];
      if (!isOnPage((from[4] + to[4]) / 2, from[5])) continue;
      if (masks > 0 || isHidden) {
        drawing.hasHidden ||= isHidden && glyph.unicode.trim() !== '';
        continue;
      }
      if (font.composite) codes.see(glyph.unicode, glyph.originalCharCode);
      if (spoken?.glyph) {
        const end = from[4] + Math.hypot(to[4] - from[4], to[5] - from[5]);
        const isBeside = spoken.glyph.angle === 0 && Math.abs(from[5] - spoken.glyph.y) < letterSize;
        if (isBeside) widen(spoken.glyph, from[4], end);
        continue;
      }
      const text = spoken?.text ?? letterOf(glyph.unicode, font.isType3Font);
      if (text === undefined) drawing.hasUnmapped = true;
      if (text === undefined || text === '') continue;
      const [dx, dy] = [to[4] - from[4], to[5] - from[5]];
      const one: Glyph = {
        text,
        x: from[4],
        y: from[5],
        width: Math.hypot(dx, dy),
        size: letterSize,
        angle: step !== 0 ? angleOf(dx, dy) : angleOf(placed[0], placed[1]) - (font.vertical ? 90 : 0),
        mark,
        isArtifact,
        isUnseen: state.mode === invisible,
      };
      drawing.glyphs.push(one);
      if (spoken) spoken.glyph = one;
      else if (font.composite) fontNames.set(one, state.fontName);
    }
    at = times(at, [1, 0, 0, 1, font.vertical ? 0 : along * stretch, font.vertical ? -along : 0]);
  };
  const paint = (painted: number, data: ArrayLike<number> | null) => {
    if (painted === ops.endPath) return;
    state.hasDrawn = true;
    if (data === null || markNow().isHidden || masks > 0) return;
    const isStroked = painted === ops.stroke || painted === ops.closeStroke;
    if (!state.isWhite || isStroked) drawing.shapes += 1;
    if (drawing.rules.length <= maxRules)
      for (const rule of rulesOf(data, state.matrix, isStroked)) drawing.rules.push(rule);
  };

  const does: Record<string, (args: never) => void> = {
    save,
    restore,
    transform: (args: number[]) => {
      state.matrix = times(state.matrix, args);
      state.isPlaced = true;
    },
    paintFormXObjectBegin: ([matrix]: [ArrayLike<number> | null]) => {
      save();
      if (matrix) state.matrix = times(state.matrix, matrix);
      state.hasDrawn = true;
    },
    paintFormXObjectEnd: restore,
    beginGroup: ([group]: [{ smask?: unknown }]) => {
      save();
      state.hasDrawn = true;
      if (masks > 0 || group.smask) masks += 1;
    },
    endGroup: () => {
      restore();
      if (masks > 0) masks -= 1;
    },
    beginText: () => {
      line = at = identity;
    },
    setFont: ([name, size]: [string, number]) => {
      state.font = source.fontOf(name) ?? {};
      state.fontName = name;
      state.size = size;
    },
    setGState: ([entries]: [[string, unknown][]]) => {
      for (const [key, value] of entries) if (key === 'Font') does.setFont?.(value as never);
    },
    setCharSpacing: ([space]: [number]) => (state.letterSpace = space),
    setWordSpacing: ([space]: [number]) => (state.wordSpace = space),
    setHScale: ([percent]: [number]) => (state.stretch = percent / 100),
    setLeading: ([leading]: [number]) => (state.leading = leading),
    setTextRise: ([rise]: [number]) => (state.rise = rise),
    setTextRenderingMode: ([mode]: [number]) => (state.mode = mode),
    setFillRGBColor: ([color]: [unknown]) => (state.isWhite = color === '#ffffff'),
    setTextMatrix: ([matrix]: [ArrayLike<number>]) => {
      line = at = times(identity, matrix);
    },
    moveText: ([x, y]: [number, number]) => moveBy(x, y),
    setLeadingMoveText: ([x, y]: [number, number]) => {
      state.leading = -y;
      moveBy(x, y);
    },
    nextLine: () => moveBy(0, -state.leading),
    showText: ([glyphs]: [FontGlyph[]]) => show(glyphs),
    constructPath: ([painted, [data]]: [number, [ArrayLike<number> | null]]) => paint(painted, data),
    shadingFill: () => (state.hasDrawn = true),
    beginMarkedContent: ([tag]: [{ name?: string } | null]) =>
      marks.push({ ...markNow(), isArtifact: markNow().isArtifact || tag?.name === 'Artifact' }),
    beginMarkedContentProps: ([tag, properties, spoken]: [unknown, unknown, unknown]) => {
      const { mark, isArtifact, isHidden, spoken: around } = markNow();
      const own = typeof spoken === 'string' ? { text: textOfString(spoken) } : undefined;
      marks.push({
        spoken: around ?? own,
        mark: tag !== 'OC' && typeof properties === 'number' ? properties : mark,
        isArtifact: isArtifact || tag === 'Artifact',
        isHidden: isHidden || (tag === 'OC' && !source.isShown(properties)),
      });
    },
    endMarkedContent: () => void marks.pop(),
  };
  const byNumber = new Map(
    Object.entries(does).flatMap(([name, act]) => (ops[name] === undefined ? [] : [[ops[name], act] as const])),
  );
  for (let index = 0; index < source.fnArray.length; index++)
    byNumber.get(source.fnArray[index] ?? -1)?.((source.argsArray[index] ?? []) as never);
  if (drawing.rules.length > maxRules) drawing.rules = [];
  const isReadable = (glyph: Glyph) => !source.codes.get(fontNames.get(glyph) ?? '')?.isUnmapped;
  if (!drawing.glyphs.every(isReadable)) {
    drawing.hasUnmapped = true;
    drawing.glyphs = drawing.glyphs.filter(isReadable);
  }
  return drawing;
}

function widen(glyph: Glyph, start: number, right: number): void {
  const end = Math.max(glyph.x + glyph.width, right);
  glyph.x = Math.min(glyph.x, start);
  glyph.width = end - glyph.x;
}

function angleOf(dx: number, dy: number): number {
  return (Math.atan2(dy, dx) * 180) / Math.PI;
}

function codesOf(all: Map<string, FontCodes>, name: string): FontCodes {
  let codes = all.get(name);
  if (!codes) {
    codes = newCodes();
    all.set(name, codes);
  }
  return codes;
}

/**
 * Detects a font whose codes have several bytes and mean no letters. Such a code is only the number of a shape in the font, but pdf.js uses
 * it as the code of a letter. The first numbers are then control characters, which never occur in text.
 */
function newCodes(): FontCodes {
  let isIdentity = true;
  let hasControls = false;
  return {
    see(unicode, code) {
      isIdentity &&= code !== undefined && unicode === String.fromCharCode(code);
      hasControls ||= code !== undefined && code > 0 && code < 0x20;
    },
    get isUnmapped() {
      return isIdentity && hasControls;
    },
  };
}

/** The letters of a Type 3 font are drawings in the file, with their own units. */
function type3Size({ bbox = [], fontMatrix = [] }: Font, size: number): number {
  const height = Math.abs((bbox[3] ?? 0) - (bbox[1] ?? 0)) * Math.abs(fontMatrix[3] ?? 0.001) * Math.abs(size);
  const isUsual = height > Math.abs(size) * 0.3 && height < Math.abs(size) * 3;
  return height > 0 && !isUsual ? height : Math.abs(size);
}

/** @returns the bounding box of a transformed rectangle */
function boxOf(matrix: Matrix, x: number, y: number, right: number, top: number): Box {
  const corners = [[x, y], [right, y], [x, top], [right, top]].map(([a = 0, b = 0]) => times(matrix, [1, 0, 0, 1, a, b])); // prettier-ignore
  const [xs, ys] = [corners.map((corner) => corner[4]), corners.map((corner) => corner[5])];
  const [left, bottom] = [Math.min(...xs), Math.min(...ys)];
  return { x: left, y: bottom, width: Math.max(...xs) - left, height: Math.max(...ys) - bottom };
}

const thinnest = 3;
const shortestRule = 6;

/** @param data a path of pdf.js: each operator with its numbers */
function* rulesOf(data: ArrayLike<number>, matrix: Matrix, isStroked: boolean): Generator<Box> {
  const [moveTo, lineTo, , , closePath] = [0, 1, 2, 3, 4];
  const lengths = [2, 2, 6, 4, 0];
  let start: [number, number] = [0, 0];
  let last = start;
  let corners: [number, number][] = [];
  let isStraight = true;
  const isRule = ({ width, height }: Box) =>
    Math.min(width, height) <= thinnest && Math.max(width, height) >= shortestRule;
  const filled = function* () {
    if (!isStroked && isStraight && corners.length > 1) {
      const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
      const box = boxOf(matrix, Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys));
      if (isRule(box)) yield box;
    }
    corners = [];
    isStraight = true;
  };
  for (let index = 0; index < data.length;) {
    const operator = data[index] ?? closePath ?? 4;
    const length = lengths[operator] ?? 0;
    const to: [number, number] =
      operator === closePath ? start : [data[index + length - 1] ?? 0, data[index + length] ?? 0];
    index += 1 + length;
    if (operator === moveTo) {
      yield* filled();
      start = to;
    } else if (operator !== lineTo && operator !== closePath) isStraight = false;
    else if (isStroked) {
      const box = boxOf(matrix, Math.min(last[0], to[0]), Math.min(last[1], to[1]), Math.max(last[0], to[0]), Math.max(last[1], to[1])); // prettier-ignore
      if (isRule(box)) yield box;
    }
    if (corners.length < 8) corners.push(to);
    else isStraight = false;
    last = to;
  }
  yield* filled();
}
