# ruff: noqa: E501  other people's files have long lines
"""Requests with their URLs, and topics of buses, from files as people write them."""

from tests.indexing.crossing.samples import messages, requests


def test_python_clients_and_their_base_urls() -> None:
    assert requests(
        {
            "client.py": (
                "import httpx\nimport requests\nfrom urllib.request import urlopen\n"
                "\nBASE = 'https://users.internal'\n\n"
                "client = httpx.AsyncClient(base_url='http://orders:8000/api')\nsession = requests.Session()\n\n"
                "async def one(user_id, base):\n"
                '    await client.get(f"/orders/{user_id}?page=1")\n'
                '    requests.post(f"{base}/payments", json={})\n'
                "    session.delete(BASE + '/users/' + user_id)\n"
                '    requests.request("PATCH", "http://localhost:9000/items")\n'
                '    urlopen("http://config/values")\n'
                "    cache = {}\n    cache.get('/not/a/request')\n"
            ),
        }
    ) == {
        "GET orders/api/orders/{}",
        "POST /payments",
        "DELETE /users/{}",
        "PATCH localhost/items",
        "GET config/values",
    }


def test_javascript_clients() -> None:
    assert requests(
        {
            "api.ts": (
                "import axios from 'axios'\nimport got from 'got'\n\n"
                "const http = axios.create({ baseURL: 'http://orders/api' })\n\n"
                "export async function go(id: string) {\n"
                "  await http.put(`/orders/${id}`, {})\n"
                "  await axios.get('/users')\n"
                "  await fetch(`${process.env.API}/items`, { method: 'POST' })\n"
                "  await got.delete('https://payments.svc/refunds')\n"
                "  await axios({ method: 'patch', url: '/accounts' })\n"
                "}\n"
            )
        }
    ) == {
        "PUT orders/api/orders/{}",
        "GET /users",
        "POST /items",
        "DELETE payments.svc/refunds",
        "PATCH /accounts",
    }


def test_go_clients() -> None:
    assert requests(
        {
            "client.go": (
                'package client\n\nimport (\n\t"fmt"\n\t"net/http"\n)\n\nfunc call(host string) {\n'
                '\thttp.Get("http://orders/api/orders")\n'
                '\thttp.NewRequest(http.MethodPut, host+"/items", nil)\n'
                '\thttp.NewRequestWithContext(ctx, "DELETE", "http://users/users/1", nil)\n'
                '\tc := &http.Client{}\n\tc.Post(host+"/login", "application/json", nil)\n'
                '\tfmt.Println("/nothing")\n}\n'
            )
        }
    ) == {
        "GET orders/api/orders",
        "PUT /items",
        "DELETE users/users/1",
        "POST /login",
    }


def test_a_fluent_client_says_its_method_before_its_url() -> None:
    text = (
        "package x;\nimport org.springframework.web.reactive.function.client.WebClient;\n"
        "public class C {\n  private final WebClient.Builder builder;\n"
        "  public Object owner(int id) {\n    return builder.build().get()\n"
        '      .uri("http://customers-service/owners/{id}", id).retrieve();\n  }\n}\n'
    )
    assert requests({"C.java": text}) == {"GET customers-service/owners/{}"}


def test_kafka_topics_are_literals_and_constants() -> None:
    assert messages(
        {
            "topics.py": 'PLACED = "orders.placed"\n\nclass Topics:\n    PAID = "orders.paid"\n',
            "bus.py": (
                "from kafka import KafkaConsumer, KafkaProducer\nfrom topics import PLACED, Topics\n\n"
                "producer = KafkaProducer()\nconsumer = KafkaConsumer('audit', group_id='a')\n\n"
                "def send(name):\n    producer.send(PLACED, b'x')\n"
                "    producer.send(Topics.PAID, value=b'x')\n    producer.send(name, b'x')\n"
            ),
            "bus.ts": (
                "import { Kafka } from 'kafkajs'\nconst TOPIC = 'orders.shipped'\n"
                "const kafka = new Kafka({ brokers: [] })\nconst producer = kafka.producer()\n"
                "export const ship = () => producer.send({ topic: TOPIC, messages: [] })\n"
            ),
        }
    ) == {
        "kafka publish orders.placed",
        "kafka publish orders.paid",
        "kafka publish",
        "kafka subscribe audit",
        "kafka publish orders.shipped",
    }


def test_each_bus_is_known_by_what_its_receiver_is_made_by() -> None:
    assert messages(
        {
            "many.py": (
                "import boto3\nimport nats\nimport pika\nimport redis\n\n"
                "r = redis.Redis()\nsqs = boto3.client('sqs')\nsns = boto3.client('sns')\n\n"
                "async def all():\n    nc = await nats.connect('nats://x')\n"
                "    r.publish('cache.cleared', '1')\n"
                "    await nc.publish('orders.created', b'x')\n"
                "    await nc.subscribe('orders.*')\n"
                "    sqs.send_message(QueueUrl='https://sqs.eu.example/1/jobs', MessageBody='x')\n"
                "    sns.publish(TopicArn='arn:aws:sns:eu:1:alarms', Message='x')\n"
                "    channel = pika.BlockingConnection().channel()\n"
                "    channel.basic_publish(exchange='', routing_key='mails', body='x')\n"
                "    channel.basic_consume(queue='mails', on_message_callback=print)\n"
            )
        }
    ) == {
        "redis publish cache.cleared",
        "nats publish orders.created",
        "nats subscribe orders.*",
        "sqs publish jobs",
        "sns publish alarms",
        "rabbitmq publish mails",
        "rabbitmq subscribe mails",
    }


def test_a_publish_that_may_be_of_any_bus_is_of_none() -> None:
    text = "import redis\nimport nats\n\ndef send(bus):\n    bus.publish('orders.created', b'x')\n"
    assert messages({"guess.py": text}) == set()


def test_celery_tasks_are_sent_by_function_and_by_name() -> None:
    assert messages(
        {
            "tasks.py": (
                "from celery import Celery, shared_task\n\napp = Celery('shop')\n\n"
                "@shared_task\ndef mail(to):\n    pass\n\n"
                "@app.task(name='billing.charge')\ndef charge():\n    pass\n"
            ),
            "web.py": (
                "from celery import Celery\nfrom tasks import charge, mail\n\napp = Celery('web')\n\n"
                "def checkout():\n    mail.delay('x')\n    charge.apply_async()\n"
                "    app.send_task('reports.build')\n"
            ),
        }
    ) == {
        "celery subscribe tasks.mail",
        "celery subscribe billing.charge",
        "celery publish tasks.mail",
        "celery publish billing.charge",
        "celery publish reports.build",
    }


def test_go_topics() -> None:
    assert messages(
        {
            "bus.go": (
                'package bus\n\nimport "github.com/nats-io/nats.go"\n\n'
                'const Placed = "orders.placed"\n\nfunc run() {\n\tnc, _ := nats.Connect("x")\n'
                '\tnc.Publish(Placed, nil)\n\tnc.Subscribe("orders.>", nil)\n}\n'
            )
        }
    ) == {"nats publish orders.placed", "nats subscribe orders.>"}
