"""What the security rules see in one file, and what they must leave alone."""

import pytest

from indexing.findings.security import find_dangers
from indexing.findings.values import Found, Severity

DANGERS = {
    "security.eval": [
        ("python", "eval(text)"),
        ("python", "exec(open(path).read(), {})"),
        ("javascript", "const f = new Function('return ' + body)"),
        ("php", "<?php eval($code);"),
    ],
    "security.shell-injection": [
        ("python", "subprocess.run(f'rm {path}', shell=True)"),
        ("python", "os.system('rm ' + path)"),
        ("typescript", "exec(`git log ${branch}`)"),
        ("php", "shell_exec('ls ' . $path);"),
    ],
    "security.sql-injection": [
        ("python", 'cursor.execute(f"SELECT * FROM users WHERE id = {user_id}")'),
        ("python", "cursor.execute('DELETE FROM users WHERE id = %s' % user_id)"),
        ("python", "cursor.execute('SELECT a FROM t WHERE b = {}'.format(value))"),
        ("java", 'statement.executeQuery("SELECT * FROM t WHERE id = " + id);'),
        ("javascript", "db.query(`SELECT * FROM t WHERE id = ${id}`)"),
    ],
    "security.weak-hash": [
        ("python", "hashlib.md5(data)"),
        ("javascript", "crypto.createHash('sha1')"),
        ("java", 'MessageDigest.getInstance("MD5")'),
        ("go", "h := md5.New()"),
    ],
    "security.hard-coded-credential": [
        ("python", "API_KEY = 'f3Kx9vQ2mN8pL4wZ'"),
        ("javascript", "const options = { apiKey: 'ed8b3896f8e3e2b421e4c38834b915a8' }"),
        ("go", 'password := "h7Gq2!vKx9sP"'),
    ],
    "security.known-key": [
        ("python", f"KEY = '{'AKIA'}IOSFODNN7QZWXYAB'"),
        ("go", f'const t = "{"ghp_"}a8Bd02kfLqPz71mNsYtUvWx53RcEoGhIjK4d"'),
    ],
    "security.unsafe-yaml": [("python", "yaml.load(text)"), ("python", "yaml.unsafe_load(text)")],
    "security.unsafe-deserialization": [
        ("python", "pickle.loads(body)"),
        ("php", "unserialize($body);"),
        ("ruby", "Marshal.load(body)"),
    ],
    "security.tls-verification-off": [
        ("python", "requests.get(url, verify=False)"),
        ("javascript", "https.request({ rejectUnauthorized: false })"),
        ("go", "tls.Config{InsecureSkipVerify: true}"),
        ("python", "context.verify_mode = ssl.CERT_NONE"),
    ],
    "security.insecure-temporary-file": [("python", "tempfile.mktemp()")],
    "security.debug-server": [("python", "app.run(host='0.0.0.0', debug=True)")],
    "security.raw-html": [("javascript", "node.innerHTML = `<b>${name}</b>`")],
    "security.unsafe-block": [("rust", "fn f() { unsafe { read(p) } }")],
}
HARMLESS = [
    ("python", "# eval(text)\nmessage = 'never call eval(text)'"),
    ("python", "eval('1 + 1')"),
    ("python", "def eval(text): return text"),
    ("python", "model.eval(); frame.eval(text)"),
    ("python", "subprocess.run('ls | wc -l', shell=True)"),
    ("python", "subprocess.run(['rm', path])"),
    ("python", "cursor.execute('SELECT * FROM t WHERE id = %s', [user_id])"),
    ("python", "cursor.execute(f'SELECT * FROM {table}')"),
    ("python", "cursor.execute('SELECT * FROM %s' % quote_name(model))"),
    ("python", '"""Select a row from the table by {name}."""'),
    ("python", "text = f'Select one of {choices} from the list'.title()"),
    ("python", "hashlib.md5(data, usedforsecurity=False)"),
    ("python", "yaml.load(text, Loader=yaml.SafeLoader)"),
    ("python", "pickle.loads(pickle.dumps(value))"),
    ("python", "class Session:\n    verify = False\n"),
    ("python", "def get(url, verify=False): ..."),
    ("python", "password = 'password'; token = 'changeme123'; secret = ''"),
    ("python", "PASSWORD = os.environ['PASSWORD']"),
    ("python", "reset_password = 'registration/password_reset_form.html'"),
    ("python", "csrf_token = 'csrfmiddlewaretoken'"),
    ("python", "API_KEY = '<your-api-key-1234>'"),
    ("javascript", "/* eval(x) */ element.innerHTML = ''"),
    ("javascript", "const pattern = /Function(?:Expression)/"),
    ("javascript", "regex.exec(`a${b}`)"),
    ("rust", "// SAFETY: p is valid\nunsafe { read(p) }"),
    ("go", "tls.Config{InsecureSkipVerify: false}"),
]


@pytest.mark.parametrize(
    ("rule", "language", "text"),
    [(rule, language, text) for rule, cases in DANGERS.items() for language, text in cases],
)
def test_a_danger_is_found_once_where_it_stands(rule: str, language: str, text: str) -> None:
    found = _find(f"\n\n{text}\n", language)

    assert [(one.rule, one.line) for one in found] == [(rule, 3)]


@pytest.mark.parametrize(("language", "text"), HARMLESS)
def test_what_is_harmless_is_left_alone(language: str, text: str) -> None:
    assert _find(text, language) == []


def test_of_a_test_only_a_real_key_is_told_and_lightly() -> None:
    text = f"eval(text)\nKEY = '{'AKIA'}IOSFODNN7QZWXYAB'\n"

    found = find_dangers(path="a.py", language="python", content=text.encode(), is_test=True)

    assert [(one.rule, one.severity) for one in found] == [("security.known-key", Severity.LOW)]


def test_a_minified_file_is_not_scanned() -> None:
    assert _find("eval(x);" * 1_000, "javascript") == []


def test_texts_that_are_never_closed_do_not_cost_more_than_their_length() -> None:
    assert _find('eval("""' * 20_000 + "\n" * 10, "java") == []
    assert _find("/* eval(x) " * 400 + "\n", "javascript") == []


def _find(text: str, language: str) -> list[Found]:
    return find_dangers(path="a", language=language, content=text.encode(), is_test=False)
