/** How a photo must be turned to stand upright, as its Exif says. Cameras store the pixels as their sensor lies. */

/** Readers accept the mark of JPEG also where the format needs none. */
const mark = 'Exif\0\0';
const orientationTag = 0x0112;
const shortType = 3;
const entryBytes = 12;

/**
 * @param exif the content of the segment or chunk: TIFF, with or without the mark before it
 * @returns whether people see its width as the height: orientation 5 to 8; false also for what cannot be read
 */
export function liesOnItsSide(exif: Buffer): boolean {
  try {
    const orientation = orientationOf(
      exif.toString('latin1', 0, mark.length) === mark ? exif.subarray(mark.length) : exif,
    );
    return orientation >= 5 && orientation <= 8;
  } catch (error) {
    if (error instanceof RangeError) return false; // it points beyond its end
    throw error;
  }
}

/** @returns of the first directory; 1 where it says none @throws RangeError */
function orientationOf(tiff: Buffer): number {
  const order = tiff.toString('latin1', 0, 4);
  if (order !== 'II*\0' && order !== 'MM\0*') return 1;
  const isLittle = order === 'II*\0';
  const short = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  const entries = short(directory);
  for (let at = directory + 2; at < directory + 2 + entries * entryBytes; at += entryBytes) {
    if (short(at) === orientationTag) return short(at + 2) === shortType ? short(at + 8) : 1;
  }
  return 1;
}
