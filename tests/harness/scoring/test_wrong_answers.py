"""Wrong answers close to the value never pass literally; the right ones beside them never fail."""

from __future__ import annotations

import pytest

from ctxeng.harness.scoring.invention import Stated, invented
from ctxeng.harness.scoring.literal import score_literal
from ctxeng.harness.scoring.presence import values_present


def said(kind: str, expect: str, answer: str, question: str = "What was it?") -> str:
    """Return the verdict on an answer that should hold one value."""
    return score_literal(
        question=question, kind=kind, expect=[[expect]], forbid=[], answer=answer
    ).verdict


NEIGHBOURS = [
    ("identifier", "4155550123", "It is 4155550124."),
    ("number", "12345678901234567890", "12345678901234567891"),
    ("number", "31.4159265358979", "31.4159265358978"),
    ("number", "1000000000 km", "1000000000001 m"),
    ("identifier", "0042", "It is 42."),
]


@pytest.mark.parametrize(("kind", "expect", "answer"), NEIGHBOURS)
def test_a_number_is_compared_to_its_last_digit(kind: str, expect: str, answer: str) -> None:
    """Phone, account and order numbers: the neighbour is another one, in answers and prompts."""
    assert said(kind, expect, answer) == "fail"
    assert said(kind, expect, f"It is {expect}.") == "pass"
    assert values_present([[expect]], [answer]) is (expect == "0042")
    assert expect == "0042" or invented(answer, Stated.of([expect]))[1]


QUALIFIED = [
    *(("12", a) for a in ("fewer than 12", "at least 12", "12%", "12th", "12 or more", "over 12")),
    ("15%", "15‰"),
    ("15%", "15 percentage points"),
    *(("5 mg", a) for a in ("5 mcg", "5 µg", "5mcg", "5 mg/kg")),
    ("$1.5 million", "-$1.5 million"),
    ("5 °C", "minus five degrees"),
    ("5度", "マイナス5度"),
    ("5도", "영하 5도"),
    ("5度", "零下5度"),
    *(("100 USD", a) for a in ("100 CAD", "100 AUD", "C$100", "100 XYZ", "100 Canadian dollars")),
    ("5 GB", "5 Gb"),
    ("5 MB", "5 MiB"),
    ("5 hours", "5 h 30 min"),
    ("5時間", "5時間30分"),
    ("3 days", "3 business days"),
    ("3日", "3営業日"),
    *(
        ("17 March", a)
        for a in (
            "the day before 17 March",
            "before 17 March",
            "the week after 17 March",
            "after 17 March",
        )
    ),
    *(("3月17日", f"3月17日{a}") for a in ("の前日", "の翌週", "以降", "之前", "前一天", "以后")),
    *(("3월 17일", f"3월 17일 {a}") for a in ("전날", "이후", "다음 날")),
    *(("150万円", f"150万円{a}") for a in ("未満", "以上", "以下です", "を超えます")),
    ("150만 원", "150만 원 미만"),
    ("150만 원", "최소 150만 원"),
    ("150万元", "超过150万元"),
    ("150万元", "不到150万元"),
    ("500 euros", "más de 500 euros"),
    ("5 kg", "2,5 kg"),
]


@pytest.mark.parametrize(("expect", "answer"), QUALIFIED)
def test_a_bound_an_offset_or_another_unit_is_no_pass(expect: str, answer: str) -> None:
    """More, fewer, before, after, of another currency or rate: the judge's; but present."""
    assert said("other", expect, answer) != "pass"
    assert said("other", expect, f"It is {answer}, I am told.") != "pass"


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ("-5 °C", "minus 5 degrees Celsius"),
        ("-5度", "氷点下5度です"),
        ("12", "We have 12 of them."),
        ("at least 12", "It must be at least 12."),
        ("17 March", "It is on 17 March."),
        ("17 March", "17 March, I am told"),
        ("3月17日", "3月17日の会議で決まりました。"),
        ("3월 20일", "3월 20일까지예요."),
        ("150万円", "150万円です。"),
        ("5 hours", "5 h"),
        ("5 GB", "5gb"),
        ("$500", "500 for the venue"),
        ("$500", "500 US dollars"),
        ("-$1.5 million", "-$1.5 million"),
        ("$5", "- $5 for tea"),
    ],
)
def test_the_plain_amount_still_passes(expect: str, answer: str) -> None:
    """What only surrounds the amount makes it no other."""
    assert said("other", expect, answer) == "pass"


@pytest.mark.parametrize(
    ("expect", "text"),
    [("12", "fewer than 12"), ("17 March", "before 17 March"), ("azul", "sin azul")],
)
def test_presence_asks_for_the_words_alone(expect: str, text: str) -> None:
    """A value stands in a prompt whatever is said of it."""
    assert values_present([[expect]], [text])


SPANISH = [
    "sin azul",
    "nada de azul",
    "azul jamás",
    "jamás azul",
    "azul tampoco",
    "ni azul ni verde",
    "todo menos azul",
    "todo excepto azul",
    "odia el azul",
    "hay que evitar el azul",
    "rechazó el azul",
    "el azul queda descartado",
    "antes era azul",
    "ya no es azul",
    "azul o verde",
    "quizás azul",
]


@pytest.mark.parametrize("answer", SPANISH)
def test_what_is_denied_in_spanish_is_no_pass(answer: str) -> None:
    """Denial, doubt and choice in Spanish are heard; a plain assertion passes."""
    assert said("preference", "azul", answer) != "pass"
    assert said("preference", "azul", f"Dijo que {answer}.") != "pass"


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ("azul", "Es azul."),
        ("azul", "Prefiere el azul marino."),
        ("sin azúcar", "Lo quiere sin azúcar."),
        ("azul", "No es verde sino azul."),
        ("blue", "It is quite blue, the door she negotiated for."),
        ("1500 €", "1500 euros"),
    ],
)
def test_a_plain_spanish_answer_passes(expect: str, answer: str) -> None:
    """Words of another kind beside the value deny nothing."""
    assert said("preference", expect, answer) == "pass"


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ("1500 €", "1.500 euros"),
        ("2.5 kg", "2,5 kg"),
        ("2,5 kg", "2.5 kg"),
        ("1.500 €", "1500 euros"),
        ("Málaga", "Malaga"),
        ("Malaga", "Málaga"),
    ],
)
def test_spanish_spelling_is_no_plain_miss(expect: str, answer: str) -> None:
    """A decimal comma, a thousands point and a left out accent are for the judge."""
    assert said("other", expect, answer) == "ambiguous"


def test_a_thousands_point_is_no_other_currency() -> None:
    """1.500 dollars are not 1.500 euros."""
    assert said("number", "1.500 €", "1.500 dólares") == "fail"
    assert said("number", "1500 €", "1.600 euros") == "fail"


JOINED = [
    ("other", "Ana", "la hermana de Ana"),
    ("speaker", "Ana", "Luis se lo dijo a Ana"),
    ("speaker", "Anna", "Anna's brother"),
    ("other", "Anna", "It was Anna's brother."),
    ("speaker", "田中さん", "田中さんの上司です"),
    ("speaker", "李华", "李华的哥哥"),
    ("speaker", "민수", "민수의 동생"),
    ("speaker", "민수", "민수 동생이요"),
    ("identifier", "a.b@x.com", "c.a.b@x.com"),
    ("identifier", "--cache", "--cache-dir"),
    ("identifier", "/etc/nginx", "~/etc/nginx"),
    ("identifier", "https://x.com/a", "https://x.com/a?b=1"),
    ("preference", "blue", "non-blue"),
    ("preference", "blue", "blue-less"),
    ("preference", "blue", "She cancelled the blue."),
    ("preference", "blue", "The blue is too dark for her."),
    ("other", "York", "New York"),
    ("other", "京都", "東京都"),
    ("other", "京都", "東京都です"),
    ("preference", "青", "青山です"),
    ("preference", "青", "青は絶対にNG"),
    ("preference", "蓝色", "未采用蓝色"),
    ("preference", "蓝色", "我们最终未采用蓝色。"),
    ("preference", "파란색", "파란색만 아니면 됩니다"),
    ("decision", "PostgreSQL", "PostgreSQLを避ける"),
]


@pytest.mark.parametrize(("kind", "expect", "answer"), JOINED)
def test_a_part_of_a_longer_name_or_a_denied_word_is_no_pass(
    kind: str, expect: str, answer: str
) -> None:
    """Someone's brother, a longer address or option, New York, and denials by single words."""
    assert said(kind, expect, answer, "Who or what was it?") != "pass"


@pytest.mark.parametrize(
    ("kind", "expect", "answer"),
    [
        ("speaker", "Anna", "It was Anna."),
        ("speaker", "田中さん", "田中さんです。"),
        ("speaker", "민수", "민수가 말했어요."),
        ("speaker", "李华", "是李华说的。"),
        ("speaker", "Ana", "Lo dijo Ana."),
        ("identifier", "a.b@x.com", "Write to a.b@x.com."),
        ("identifier", "--cache", "Use --cache here."),
        ("identifier", "/etc/nginx", "It is in /etc/nginx."),
        ("identifier", "https://x.com/a", "It is https://x.com/a."),
        ("other", "York", "She lives in York."),
        ("other", "京都", "京都駅です。"),
        ("preference", "青", "青色です。"),
        ("preference", "蓝色", "我们选了蓝色。"),
        ("preference", "blue", "She picked the blue one."),
    ],
)
def test_the_plain_name_still_passes(kind: str, expect: str, answer: str) -> None:
    """What only follows the value makes it no other."""
    assert said(kind, expect, answer, "Who or what was it?") == "pass"


@pytest.mark.parametrize(
    ("expect", "answer", "question"),
    [
        ("70 %", "7割引", "どのくらいですか?"),
        ("70%", "70%引きです", "値段は何%ですか?"),
        ("70%", "7할 할인", "몇 퍼센트예요?"),
        ("30%", "30% off", "Which share is it?"),
        ("70%", "减少70%", "占多少?"),
        ("20%", "打八折", "多少折扣?"),
        ("二日", "二日間です", "いつですか?"),
        ("二日", "二日目", "いつですか?"),
        ("3일", "3일간", "언제예요?"),
        ("3일", "3일 동안", "언제예요?"),
        ("3号", "3号楼", "几号?"),
        ("かば", "かばん", "何ですか?"),
        ("いか", "いかだ", "何ですか?"),
        ("たい", "たいやきです", "何ですか?"),
        ("りんご", "りんごジュース", "何ですか?"),
        ("みかん", "あまみかんです", "何ですか?"),
        ("1 hour", "It takes an hour.", "How long?"),
        ("2 hours", "two hours and a bit", "How long?"),
        ("6", "half a dozen and one", "How many?"),
        ("3 days", "사흘에 한 번", "얼마나?"),
        ("2 weeks", "a fortnight", "How long?"),
        ("750,000", "three quarters of a million", "How many?"),
        ("2割引", "20%オフ", "どのくらいですか?"),
        ("五点", "差两分五点前", "几点?"),
        ("cuarto", "cuarto de baño", "¿Qué es?"),
        ("medio", "medio mundo", "¿Qué es?"),
    ],
)
def test_an_amount_or_a_word_within_another_is_for_the_judge(
    expect: str, answer: str, question: str
) -> None:
    """A share taken off, days that last, a word in a longer one, an article that may count."""
    assert said("other", expect, answer, question) == "ambiguous"


@pytest.mark.parametrize(
    ("expect", "answer", "question"),
    [
        ("70%", "7割引です", "割引は何%ですか?"),
        ("20%", "20% off", "What is the discount?"),
        ("二日間", "二日間です", "どのくらいですか?"),
        ("2日", "2日間", "どのくらいかかりますか?"),
        ("二日", "5月二日です", "いつですか?"),
        ("かば", "かばです。", "何ですか?"),
        ("かば", "答えはかばでした", "何ですか?"),
        ("りんご", "赤いものはりんごとブドウ", "何ですか?"),
        ("6", "half a dozen", "How many?"),
        ("500,000", "half a million", "How many?"),
        ("6か月", "半年です", "どのくらいですか?"),
        ("6개월", "반년이에요", "얼마나?"),
        ("10일", "열흘이에요", "얼마나 걸려요?"),
        ("사흘", "3일입니다", "얼마나 걸려요?"),
        ("1일", "하루예요", "얼마나 걸려요?"),
        ("3:30", "half past three", "When?"),
        ("2時間30分", "2時間半です", "どのくらいですか?"),
        ("2.5 hours", "2 hours 30 minutes", "How long?"),
    ],
)
def test_the_same_amount_or_word_passes(expect: str, answer: str, question: str) -> None:
    """Where the question asks for it, and in other words for the same number."""
    assert said("other", expect, answer, question) == "pass"


@pytest.mark.parametrize("expect", ["2 hours", "30 minutes"])
def test_a_part_of_an_amount_is_not_the_amount(expect: str) -> None:
    """Two hours and thirty minutes are one length of time."""
    assert said("number", expect, "2 hours 30 minutes", "How long?") == "fail"
