/** Colours that a picture declares by the codes of ITU-T H.273, which sharp ignores: in AVIF (`nclx`) and in PNG (`cICP`). */

/**
 * @param {Buffer} bytes the content of any image
 * @returns {{ primaries: number, transfer: number } | undefined} undefined if the image states no codes, or cannot be read
 */
export function codedColors(bytes) {
  try {
    return bytes.toString('latin1', 4, 8) === 'ftyp' ? ofAvif(bytes) : ofPng(bytes);
  } catch (error) {
    if (error instanceof RangeError) return undefined; // An offset in the file points beyond the end of the file.
    throw error;
  }
}

/** Real pictures have fewer parts. Further parts are ignored. */
const maxParts = 16_384;

function ofPng(bytes) {
  if (bytes.toString('latin1', 1, 4) !== 'PNG') return undefined;
  for (let at = 8, parts = 0; parts < maxParts; parts++) {
    const name = bytes.toString('latin1', at + 4, at + 8);
    if (name === 'cICP') return { primaries: bytes.readUInt8(at + 8), transfer: bytes.readUInt8(at + 9) };
    if (name === 'IDAT') return undefined; // the chunk with the codes would stand before the pixels, so it is absent
    at += 12 + bytes.readUInt32BE(at);
  }
  return undefined;
}

/** Yields the name of each box, and the beginning and end of its content. */
function* boxesIn(bytes, { from, to }) {
  for (let at = from, parts = 0; at + 8 <= to && parts < maxParts; parts++) {
    const size = bytes.readUInt32BE(at);
    const end = size === 0 ? to : at + size;
    if (size === 1 || end > to || end < at + 8) return; // The size has 64 bits, or is impossible. No description is so large.
    yield { name: bytes.toString('latin1', at + 4, at + 8), from: at + 8, to: end };
    at = end;
  }
}

function boxIn(bytes, within, name) {
  for (const box of boxesIn(bytes, within)) if (box.name === name) return box;
  throw new RangeError(`The file has no box ${name}`);
}

/** The bytes of the version and the flags of a box. */
const fullBytes = 4;

/** Only the main picture is read. A second picture can add brightness for HDR screens. */
function ofAvif(bytes) {
  const meta = boxIn(bytes, { from: 0, to: bytes.length }, 'meta');
  const inMeta = { from: meta.from + fullBytes, to: meta.to };
  const properties = boxIn(bytes, inMeta, 'iprp');
  const all = [...boxesIn(bytes, boxIn(bytes, properties, 'ipco'))];
  for (const index of propertiesOf(bytes, mainItem(bytes, inMeta), boxIn(bytes, properties, 'ipma'))) {
    const { name, from } = all[index - 1] ?? {};
    if (name === 'colr' && bytes.toString('latin1', from, from + 4) === 'nclx')
      return { primaries: bytes.readUInt16BE(from + 4), transfer: bytes.readUInt16BE(from + 6) };
  }
  return undefined;
}

function mainItem(bytes, inMeta) {
  const { from } = boxIn(bytes, inMeta, 'pitm');
  return bytes.readUInt8(from) === 0 ? bytes.readUInt16BE(from + fullBytes) : bytes.readUInt32BE(from + fullBytes);
}

/** @returns the indices, from 1 */
function propertiesOf(bytes, item, { from }) {
  const [version, flags] = [bytes.readUInt8(from), bytes.readUInt8(from + 3)];
  const [idBytes, indexBytes] = [version === 0 ? 2 : 4, flags & 1 ? 2 : 1];
  const entries = bytes.readUInt32BE(from + fullBytes);
  for (let at = from + fullBytes + 4, entry = 0; entry < Math.min(entries, maxParts); entry++) {
    const id = bytes.readUIntBE(at, idBytes);
    const count = bytes.readUInt8(at + idBytes);
    at += idBytes + 1;
    // The first bit says whether a reader must understand the property. The other bits are its index.
    const indices = Array.from(
      { length: count },
      (_, place) => bytes.readUIntBE(at + place * indexBytes, indexBytes) & (indexBytes === 2 ? 0x7fff : 0x7f),
    );
    if (id === item) return indices;
    at += count * indexBytes;
  }
  return [];
}
