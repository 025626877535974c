/** Names and titles in all scripts of certificates. Tests read the printed text again and compare it. */

interface SheetLine {
  /** In logical order. */
  text: string;
  kind: string;
}

const byKind: Record<string, readonly string[]> = {
  Latin: ['José Ángel Świętopełk', 'Nguyễn Thị Hường', 'Çağrı Öztürk İpek', 'Þórður Æsir Øyvind ẞ'],
  Greek: ['Ωκεανός Παπαδόπουλος', 'Ἀριστοτέλης ὁ Σταγειρίτης', 'Γιώργος Σεφέρης', 'Μαρία Κάλλας'],
  Cyrillic: ['Владислав Щербаков', 'Љубиша Ђорђевић', 'Їжак Ґалаґан', 'Қасым-Жомарт Әлия'],
  Arabic: ['محمد عبد الله', 'سلامة الأنصاري', 'مُحَمَّدٌ رَسُولٌ', 'علی‌رضا می‌خواهد', 'ٹیپو سلطان ڈوگر'],
  Hebrew: ['שרה בת אברהם', 'דָּוִד הַמֶּלֶךְ', 'יוסף כהן־לוי', 'רבקה גרינברג'],
  Devanagari: ['अनिता शर्मा', 'श्रीकृष्ण त्रिपाठी', 'प्रियंका द्विवेदी', 'हिन्दी में प्रमाण‌पत्र', 'क्‍षत्रिय राष्ट्र'],
  Bengali: ['রবীন্দ্রনাথ ঠাকুর', 'শেখ মুজিবুর রহমান', 'কৌশিক চট্টোপাধ্যায়', 'সৎ উৎসব'],
  Tamil: ['கமல் ஹாசன்', 'சுப்பிரமணியன்', 'மொழி கௌரி', 'ஸ்ரீநிவாச ராமானுஜன்'],
  Thai: ['สมชาย ใจดี', 'น้ำผึ้ง กำแพงเพชร', 'พิมพ์ชนก ลือวิเศษไพบูลย์', 'ที่นี่มีปู่กับป้า'],
  'Other scripts of India': ['નરેન્દ્ર પટેલ', 'ਗੁਰਪ੍ਰੀਤ ਸਿੰਘ', 'ಕೃಷ್ಣಮೂರ್ತಿ ಗೌಡ', 'മോഹൻലാൽ വിശ്വനാഥൻ', 'శ్రీనివాస రెడ్డి', 'මහින්ද රාජපක්ෂ'],
  'Further scripts': ['សុខា ស្រីមុំ', 'ኃይለ ሥላሴ', 'Արամ Խաչատրյան', 'გიორგი ბერიძე'],
  'Chinese, simplified': ['王小明', '欧阳震华', '刘诗诗', '龙门汉语课程'],
  'Chinese, traditional': ['歐陽鋒', '劉德華', '龍門漢語課程', '臺灣國語證書'],
  Japanese: ['たなか ゆうこ', '渡邉 さくら', 'サーフィン入門コース', 'ヴィクトル・髙橋ひろし'],
  Korean: ['김민준', '박서연 이지후', '한국어 초급 과정', '李나라'],
  Emoji: ['Ada ⛵ Sailing', 'Fun 😀🎉', 'Family 👨‍👩‍👧 course', 'Wave 👋🏽 ❤️'],
  'Two directions': [
    'קורס TypeScript 101',
    'Level 3: مستوى متقدم (B2)',
    'Course קורס 12 of 30',
    'دورة C++ للمبتدئين 50%',
  ],
  Mixtures: ['قسم 2024', '王小明 Wang Xiaoming', 'Πρόγραμμα курс course', 'हिन्दी 101 – Basics'],
  'Decomposed and combined': [
    'Jose\u0301 A\u0301ngel',
    'Ng\u0075\u0079e\u0302\u0303n',
    '\u1100\u1175\u11b7\u1106\u1175\u11ab',
    'x\u0304 q\u0303 m\u0300',
  ],
  'Very long': [
    'Wolfeschlegelsteinhausenbergerdorff '.repeat(4).trim(),
    'دورة تعليم اللغة العربية للناطقين بغيرها '.repeat(3).trim(),
  ],
};

export const sheet: readonly SheetLine[] = Object.entries(byKind).flatMap(([kind, texts]) =>
  texts.map((text) => ({ kind, text })),
);
