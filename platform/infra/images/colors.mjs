/**
 * Converts colours of HDR and wide gamuts to BT.709 or sRGB. Files name their colours by the codes of ITU-T H.273. Brightness follows
 * BT.2408 (paper white has 203 cd/m²) and BT.2390 (highlights).
 */

/** Codes of H.273. */
const primaries = { bt2020: 9, p3Dci: 11, p3: 12 };
const transfers = { srgb: 13, pq: 16, hlg: 18 };

/** These matrices lead from linear RGB with D65 white to linear BT.709. */
const toBt709 = {
  [primaries.bt2020]: [
    [1.660491, -0.5876411, -0.0728499],
    [-0.1245505, 1.1328999, -0.0083494],
    [-0.0181508, -0.1005789, 1.1187297],
  ],
  [primaries.p3]: [
    [1.2249402, -0.2249402, 0],
    [-0.042057, 1.042057, 0],
    [-0.0196376, -0.0786361, 1.0982737],
  ],
};
toBt709[primaries.p3Dci] = toBt709[primaries.p3]; // Its white differs only a little from the white of P3.

const luma2020 = [0.2627, 0.678, 0.0593];

/** The highest expected brightness, and the brightness that becomes white, in cd/m². */
const peakNits = 1_000;
const whiteNits = 203;
const hlgSystemGamma = 1.2;
const displayGamma = 2.4;

/** The constants of PQ (SMPTE ST 2084), between the signal (0 to 1) and cd/m². */
const [m1, m2, c1, c2, c3] = [2_610 / 16_384, 2_523 / 32, 3_424 / 4_096, 2_413 / 128, 2_392 / 128];
function nitsOfPq(signal) {
  const power = signal ** (1 / m2);
  return 10_000 * (Math.max(0, power - c1) / (c2 - c3 * power)) ** (1 / m1);
}
function pqOfNits(nits) {
  const power = (nits / 10_000) ** m1;
  return ((c1 + c2 * power) / (1 + c3 * power)) ** m2;
}

/** Converts the signal of HLG (BT.2100) to the light of the scene (0 to 1). */
function sceneOfHlg(signal) {
  const [a, b, c] = [0.17883277, 0.28466892, 0.55991073];
  return signal <= 0.5 ? signal ** 2 / 3 : (Math.exp((signal - c) / a) + b) / 12;
}

const [peak, white] = [pqOfNits(peakNits), pqOfNits(whiteNits)];

/**
 * BT.2390: the peak becomes white, and dark values do not change.
 * @returns the brightness in cd/m², at most `whiteNits`
 */
function compressed(nits) {
  const [signal, most] = [Math.min(1, pqOfNits(nits) / peak), white / peak];
  const knee = 1.5 * most - 0.5;
  if (signal <= knee) return nits;
  const t = (signal - knee) / (1 - knee);
  const hermite =
    (2 * t ** 3 - 3 * t ** 2 + 1) * knee + (t ** 3 - 2 * t ** 2 + t) * (1 - knee) + (-2 * t ** 3 + 3 * t ** 2) * most;
  return nitsOfPq(hermite * peak);
}

const srgbToLinear = (signal) => (signal <= 0.04045 ? signal / 12.92 : ((signal + 0.055) / 1.055) ** 2.4);
const linearToSrgb = (light) => (light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055);

const sum = (weights, color) => weights[0] * color[0] + weights[1] * color[1] + weights[2] * color[2];

/** These functions return linear light of the screen, in the primaries of the file. White is 1. */
const lights = {
  [transfers.pq]: (color) => toned(color.map(nitsOfPq)),
  [transfers.hlg](color) {
    const scene = color.map(sceneOfHlg);
    const brightness = sum(luma2020, scene) ** (hlgSystemGamma - 1);
    return toned(scene.map((light) => peakNits * brightness * light));
  },
  [transfers.srgb]: (color) => color.map(srgbToLinear),
};

/** One factor for all three components keeps the hue. */
function toned(nits) {
  const most = Math.max(...nits);
  const factor = most > 0 ? compressed(most) / most / whiteNits : 0;
  return nits.map((light) => light * factor);
}

/** Colour profiles do this, too. */
const clipped = (light) => Math.min(1, Math.max(0, light));

/**
 * @param codes.primaries code of H.273 @param codes.transfer code of H.273
 * @returns a function that converts a colour to BT.709, each component from 0 to 1; undefined if no conversion is needed
 */
export function toStandardColors(codes) {
  const isHdr = codes.transfer === transfers.pq || codes.transfer === transfers.hlg;
  const matrix = toBt709[codes.primaries];
  if (!isHdr && !matrix) return undefined;
  const light = lights[codes.transfer] ?? ((color) => color.map((signal) => signal ** displayGamma));
  const signalOf = codes.transfer === transfers.srgb ? linearToSrgb : (one) => one ** (1 / displayGamma);
  return (color) => {
    const screenLight = light(color);
    return (matrix ? matrix.map((row) => sum(row, screenLight)) : screenLight).map((one) => signalOf(clipped(one)));
  };
}

/** The points on each side of the table. */
const points = 33;

/** @returns a lookup table (.cube) for videos */
export function colorTable(convert) {
  const lines = [`LUT_3D_SIZE ${points}`];
  const at = (index) => index / (points - 1);
  for (let blue = 0; blue < points; blue++)
    for (let green = 0; green < points; green++)
      for (let red = 0; red < points; red++)
        lines.push(
          convert([at(red), at(green), at(blue)])
            .map((value) => value.toFixed(6))
            .join(' '),
        );
  return `${lines.join('\n')}\n`;
}
