/** Writes the numbers of list items in the formats of office programs. The formats have Word's names (ST_NumberFormat). */

/** The code point of the zero in each script. */
const zeros: Record<string, number> = {
  decimalFullWidth: 0xff10,
  decimalFullWidth2: 0xff10,
  hindiNumbers: 0x0966,
  thaiNumbers: 0x0e50,
  arabicIndic: 0x0660,
};

/** The letters of formats that number items in alphabetical order. */
const alphabets: Record<string, string> = {
  hebrew2: 'אבגדהוזחטיכלמנסעפצקרשת',
  arabicAlpha: 'أبتثجحخدذرزسشصضطظعغفقكلمنهوي',
  arabicAbjad: 'أبجدهوزحطيكلمنسعفصقرشتثخذضظغ',
  russianLower: 'абвгдежзиклмнопрстуфхцчшщыэюя',
  russianUpper: 'АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЫЭЮЯ',
  thaiLetters: 'กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ',
  hindiVowels: 'कखगघङचछजझञटठडढणतथदधनपफबभमयरलवशषसह',
  hindiConsonants: 'अआइईउऊऋऌऍऎएऐऑऒओऔ',
  ganada: '가나다라마바사아자차카타파하',
  chosung: 'ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ',
  ideographTraditional: '甲乙丙丁戊己庚辛壬癸',
  ideographZodiac: '子丑寅卯辰巳午未申酉戌亥',
  aiueoFullWidth: 'アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン',
  aiueo: 'ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜｦﾝ',
  irohaFullWidth: 'イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセスン',
  iroha: 'ｲﾛﾊﾆﾎﾍﾄﾁﾘﾇﾙｦﾜｶﾖﾀﾚｿﾂﾈﾅﾗﾑｳヰﾉｵｸﾔﾏｹﾌｺｴﾃｱｻｷﾕﾒﾐｼヱﾋﾓｾｽﾝ',
  ideographEnclosedCircle: '㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉',
  decimalEnclosedCircle: '①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳',
  decimalEnclosedCircleChinese: '①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳',
  decimalEnclosedParen: '⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇',
  decimalEnclosedFullstop: '⒈⒉⒊⒋⒌⒍⒎⒏⒐⒑⒒⒓⒔⒕⒖⒗⒘⒙⒚⒛',
};
/** These formats have one sign for each number. Larger numbers are written in plain digits. */
const endsWithItsSigns = /^(?:decimalEnclosed|ideographEnclosed)/;

/** The ten digits, and the words for ten, a hundred, a thousand and ten thousand. */
const counted: Record<string, string> = {
  chineseCounting: '〇一二三四五六七八九十百千万',
  chineseCountingThousand: '〇一二三四五六七八九十百千万',
  taiwaneseCounting: '○一二三四五六七八九十百千萬',
  taiwaneseCountingThousand: '○一二三四五六七八九十百千萬',
  japaneseCounting: '〇一二三四五六七八九十百千万',
  koreanCounting: '영일이삼사오육칠팔구십백천만',
  chineseLegalSimplified: '零壹贰叁肆伍陆柒捌玖拾佰仟萬',
  ideographLegalTraditional: '零壹貳參肆伍陸柒捌玖拾佰仟萬',
  japaneseLegal: '零壱弐参四伍六七八九拾百阡萬',
};
/** In these formats, ten is written without a "one" before it: 十, not 一十. */
const leavesOneOut = /^(?:chineseCounting|taiwanese|japaneseCounting|koreanCounting)/;

/** Each decimal digit is written separately, as in 二〇 for 20. */
const positional: Record<string, string> = {
  ideographDigital: '〇一二三四五六七八九',
  japaneseDigitalTenThousand: '〇一二三四五六七八九',
  taiwaneseDigital: '○一二三四五六七八九',
  koreanDigital: '영일이삼사오육칠팔구',
  koreanDigital2: '零一二三四五六七八九',
};

const numerals: readonly (readonly [number, string])[] = [
  [1_000, 'm'], [900, 'cm'], [500, 'd'], [400, 'cd'], [100, 'c'], [90, 'xc'], [50, 'l'], [40, 'xl'], [10, 'x'], [9, 'ix'],
  [5, 'v'], [4, 'iv'], [1, 'i'],
]; // prettier-ignore
const hebrewNumerals: readonly (readonly [number, string])[] = [
  [400, 'ת'], [300, 'ש'], [200, 'ר'], [100, 'ק'], [90, 'צ'], [80, 'פ'], [70, 'ע'], [60, 'ס'], [50, 'נ'], [40, 'מ'], [30, 'ל'],
  [20, 'כ'], [16, 'טז'], [15, 'טו'], [10, 'י'], [9, 'ט'], [8, 'ח'], [7, 'ז'], [6, 'ו'], [5, 'ה'], [4, 'ד'], [3, 'ג'], [2, 'ב'],
  [1, 'א'],
]; // prettier-ignore

const small = [
  'zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve', 'thirteen',
  'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen',
]; // prettier-ignore
const tens = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];
const ordinalWords: Record<string, string> = {
  one: 'first', two: 'second', three: 'third', five: 'fifth', eight: 'eighth', nine: 'ninth', twelve: 'twelfth',
}; // prettier-ignore

const latin = 'abcdefghijklmnopqrstuvwxyz';

/**
 * @param format the name of the format in Word; an unknown format counts as decimal
 * @param options.language the language of the document, for formats that need words
 * @param options.pattern the first items of the format `custom`, such as `001, 002, ...`
 * @returns the number, without the text around the number; empty for `none` and `bullet`
 */
export function formatNumber(
  number: number,
  format: string,
  { language = 'en', pattern = '' }: { language?: string; pattern?: string } = {},
): string {
  const plain = String(number);
  if (format === 'none' || format === 'bullet') return '';
  if (format === 'custom') return likeFirst(number, pattern.split(',')[0]?.trim() ?? '');
  if (format === 'decimalZero') return plain.padStart(2, '0');
  if (format === 'numberInDash') return `- ${plain} -`;
  if (format === 'hex') return number.toString(16).toUpperCase();
  if (number < 1 || number > 32_767) return plain;
  if (format === 'ordinal') return ordinal(number, language);
  if (format === 'cardinalText') return language.startsWith('en') ? capital(inWords(number)) : plain;
  if (format === 'ordinalText') return language.startsWith('en') ? capital(ordinalInWords(number)) : plain;
  if (format === 'lowerRoman') return added(number, numerals);
  if (format === 'upperRoman') return added(number, numerals).toUpperCase();
  if (format === 'lowerLetter') return repeated(number, latin);
  if (format === 'upperLetter') return repeated(number, latin).toUpperCase();
  if (format === 'chicago') return repeated(number, '*†‡§');
  if (format === 'hebrew1') return added(number, hebrewNumerals);
  return signsOf(number, format) ?? plain;
}

function signsOf(number: number, format: string): string | undefined {
  const plain = String(number);
  const zero = zeros[format];
  if (zero !== undefined) return plain.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
  const digits = positional[format];
  if (digits !== undefined) return plain.replace(/\d/g, (digit) => digits[Number(digit)] ?? digit);
  const words = counted[format];
  if (words !== undefined) return countedWith(number, words, leavesOneOut.test(format));
  const alphabet = alphabets[format];
  if (alphabet === undefined || (endsWithItsSigns.test(format) && number > alphabet.length)) return undefined;
  return format.startsWith('ideograph') ? alphabet[(number - 1) % alphabet.length] : repeated(number, alphabet);
}

/** Writes the number in the script of the first item, and with at least as many digits. */
function likeFirst(number: number, first: string): string {
  const digits = /\p{Nd}+/u.exec(first)?.[0] ?? '1';
  const one = digits.codePointAt(
    digits.length - String.fromCodePoint(digits.codePointAt(digits.length - 1) ?? 49).length,
  );
  const zero = (one ?? 49) - 1;
  const text = String(number).padStart(Array.from(digits).length, '0');
  return text.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
}

/** Counts with letters in the way of word processors: a … z, aa … zz, aaa. Spreadsheets count differently. */
function repeated(number: number, alphabet: string): string {
  const signs = Array.from(alphabet);
  return (signs[(number - 1) % signs.length] ?? '').repeat(Math.ceil(number / signs.length));
}

function added(number: number, values: readonly (readonly [number, string])[]): string {
  let remaining = number;
  let text = '';
  for (const [value, sign] of values)
    for (; remaining >= value && (!isWhole(value) || remaining === value); remaining -= value) text += sign;
  return text;
}

/** Hebrew writes 15 and 16 in a special form, which no other number uses. */
function isWhole(value: number): boolean {
  return value === 15 || value === 16;
}

function countedWith(number: number, signs: string, leavesOut: boolean): string {
  const digits = Array.from(signs);
  const [zero = ''] = digits;
  let text = '';
  let isGap = false;
  for (const [unit, place] of [
    [10_000, 13],
    [1_000, 12],
    [100, 11],
    [10, 10],
    [1, 0],
  ] as const) {
    const digit = Math.floor(number / unit) % 10;
    if (digit === 0) {
      isGap = text !== '';
      continue;
    }
    if (isGap) text += zero;
    isGap = false;
    const isLoneTen = leavesOut && unit === 10 && digit === 1 && text === '';
    text += (isLoneTen ? '' : (digits[digit] ?? '')) + (place === 0 ? '' : (digits[place] ?? ''));
  }
  return text;
}

function ordinal(number: number, language: string): string {
  const [code = 'en'] = language.toLowerCase().split('-');
  if (['pt', 'es', 'it', 'gl', 'ca'].includes(code)) return `${number}º`;
  if (code === 'fr') return number === 1 ? '1er' : `${number}e`;
  if (code !== 'en') return `${number}.`;
  const isTeen = number % 100 > 10 && number % 100 < 14;
  return `${number}${isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th')}`;
}

function inWords(number: number): string {
  if (number < 20) return small[number] ?? '';
  if (number >= 100) return String(number);
  const rest = number % 10;
  return `${tens[Math.floor(number / 10)] ?? ''}${rest === 0 ? '' : `-${small[rest] ?? ''}`}`;
}

function ordinalInWords(number: number): string {
  if (number >= 100) return ordinal(number, 'en');
  const words = inWords(number);
  const last = words.slice(words.lastIndexOf('-') + 1);
  const before = words.slice(0, words.length - last.length);
  return before + (ordinalWords[last] ?? (last.endsWith('y') ? `${last.slice(0, -1)}ieth` : `${last}th`));
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
